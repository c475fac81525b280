from schemas.settings.changes import ChangedSetting
from schemas.settings.resolve import resolve


def test_a_value_that_differs_from_the_profile_is_listed_with_the_profiles() -> None:
    settings = resolve(
        profile="demo",
        environment={"MODEL_JUDGE_MODEL": "judge", "EMBEDDING_TOP_K_REFERENCES": "3"},
        options={"EMBEDDING_CHUNK_SIZE": "10", "EMBEDDING_DIMENSION": "384"},
    )

    assert settings.changed == {
        "EMBEDDING_CHUNK_SIZE": ChangedSetting(10, 8, "option"),
        "MODEL_JUDGE_MODEL": ChangedSetting("judge", "smollm2:135m", "environment"),
    }
