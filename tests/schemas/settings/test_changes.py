import pytest

from schemas.settings.changes import ChangedSetting, changed_settings
from schemas.settings.profiles import PROFILES
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


@pytest.mark.parametrize("profile", PROFILES)
def test_the_values_of_a_profile_are_those_that_a_run_of_it_gets(profile: str) -> None:
    resolved = resolve(profile=profile, environment={}, env_file=None).snapshot()
    as_if_chosen = {name: {"value": None, "source": "option"} for name in resolved}

    found = changed_settings(profile, as_if_chosen)

    of_profile = {name: change.profile for name, change in found.items()}
    assert [(name, type(value), value) for name, value in of_profile.items()] == [
        (name, type(entry["value"]), entry["value"]) for name, entry in resolved.items()
    ]
