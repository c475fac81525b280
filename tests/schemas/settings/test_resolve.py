from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.settings.base import SettingSource
from schemas.settings.preset import Preset
from schemas.settings.resolve import resolve
from schemas.settings.run import RunSettings, thaw

TOP_K = "EMBEDDING_TOP_K_REFERENCES"
NOTHING = "OLLAMA_HOST nor RAGQ_OPENAI_BASE_URL is set"


def problems(**asked: Any) -> list[str]:
    with pytest.raises(Refused) as refusal:
        resolve(**{"environment": {}} | asked)
    return [line.removeprefix("- ") for line in str(refusal.value).splitlines()[1:-1]]


def test_each_layer_wins_over_those_below(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{TOP_K}=4\n")
    asked: dict[str, Any] = {"environment": {}}
    for layer, value, source in (
        ({"profile": "paper"}, 2, SettingSource.DEFAULT),
        ({"profile": "demo"}, 3, SettingSource.PROFILE),
        ({"env_file": file}, 4, SettingSource.FILE),
        ({"environment": {TOP_K: "5"}}, 5, SettingSource.ENVIRONMENT),
        ({"options": {TOP_K: "6"}}, 6, SettingSource.OPTION),
    ):
        asked |= layer
        settings = resolve(**asked)
        assert (settings.run.embedding.top_k_references, settings.sources[TOP_K]) == (value, source)


@pytest.mark.parametrize(
    ("asked", "environment", "profile", "why"),
    [
        ("demo", {"RAGQ_PROFILE": "paper"}, "demo", "option --profile"),
        (None, {"RAGQ_PROFILE": "demo", "OLLAMA_HOST": "h"}, "demo", "RAGQ_PROFILE in the environment"),
        (None, {"OLLAMA_HOST": "h"}, "server", "OLLAMA_HOST is set"),
        (None, {"RAGQ_OPENAI_BASE_URL": "http://h"}, "server", "RAGQ_OPENAI_BASE_URL is set"),
        (None, {"OLLAMA_HOST": "", "RAGQ_PROFILE": ""}, "local", f"neither {NOTHING}: no language model is asked"),
    ],
)
def test_the_profile_is_chosen_and_the_choice_explained(
    asked: str | None, environment: dict[str, str], profile: str, why: str
) -> None:
    settings = resolve(profile=asked, environment=environment)
    assert (settings.profile, settings.profile_source) == (profile, why)


def test_the_profiles_of_the_authors_differ_in_what_they_recommend_and_in_the_form_of_the_prompt_alone() -> None:
    paper = RunSettings().values()

    def changes_of(profile: str) -> dict[str, Any]:
        values = resolve(profile=profile, environment={}).run.values()
        return {name: value for name, value in values.items() if value != paper[name]}

    assert changes_of("validated") == {
        "EMBEDDING_EMBEDDINGS_FILE": "huggingface_qwen3_8b_paper_train_participant_only",
        "EMBEDDING_MIN_REFERENCE_SIMILARITY": 0.3,
        "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": 500,
        "EMBEDDING_ENABLE_ITEM_TAG_FILTER": True,
        "EMBEDDING_REFERENCE_SCORE_SOURCE": "chunk",
        "EMBEDDING_ENABLE_RETRIEVAL_AUDIT": True,
        "CONSISTENCY_ENABLED": True,
        "MODEL_QUANTITATIVE_MODEL": "gemma3:27b-it-qat",
        "MODEL_JUDGE_MODEL": "gemma3:27b-it-qat",
    }
    assert changes_of("paper-parity") == {"RAGQ_PROMPT_FORMAT": "notebook"}


def test_every_problem_is_reported_at_once_with_its_origin(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("EMBEDDING_TOPK_REFERENCES=3\nnot a 'line\nEMBEDDING_DIMENSION=abc\n")

    found = problems(
        profile="papr",
        env_file=file,
        environment={"EMBEDDING_CHUNK_SIZE": "21"},
        options={"DATABASE_URL": "postgresql://hidden", "MODEL_JUGDE_MODEL": "x"},
    )

    assert found == [
        f"file {file}, line 2 is not of the form NAME=VALUE.",
        f"EMBEDDING_TOPK_REFERENCES (file {file}) is not a setting; did you mean EMBEDDING_TOP_K_REFERENCES?",
        "Profile 'papr' (option --profile) does not exist; "
        "there are paper, paper-parity, validated, local, server, demo. Did you mean 'paper'?",
        "DATABASE_URL (option --set) belongs to the process; set it in the environment.",
        "MODEL_JUGDE_MODEL (option --set) is not a setting; did you mean MODEL_JUDGE_MODEL?",
        f"EMBEDDING_DIMENSION is 'abc' (file {file}); allowed is a whole number from 1 up.",
        "EMBEDDING_CHUNK_SIZE is '21' (environment); allowed is a whole number from 2 to 20.",
    ]


def test_the_snapshot_gives_the_run_back() -> None:
    environment = {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.25"}
    settings = resolve(profile="demo", environment=environment, options={"RAGQ_RETRIES": "2"})

    snapshot = settings.snapshot()

    assert snapshot["EMBEDDING_MIN_REFERENCE_SIMILARITY"] == {"value": 0.25, "source": "environment"}
    assert snapshot["RAGQ_RETRIES"] == {"value": 2, "source": "option"}
    assert snapshot["MODEL_JUDGE_MODEL"] == {"value": "smollm2:135m", "source": "profile"}
    preset = Preset().changed({"retrieval.dense_limit": 7}, origin="test")
    frozen = thaw(snapshot | preset.snapshot("Mine"))
    assert (frozen.run, frozen.preset) == (settings.run, preset)
