"""Every environment name of ai-psychiatrist has its effect, is refused, or is warned about."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.settings.names import LIMITED, ORIGINAL_NAMES, WITHOUT_EFFECT
from schemas.settings.process import PROCESS_SETTINGS
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.settings.run import RUN_SETTINGS

#: Of the original's configuration, by prefix.
NAMES = {
    "EMBEDDING_": (
        "BACKEND DIMENSION ALLOW_INSUFFICIENT_DIMENSION_EMBEDDINGS CHUNK_SIZE CHUNK_STEP TOP_K_REFERENCES "
        "MIN_EVIDENCE_CHARS ENABLE_BATCH_QUERY_EMBEDDING QUERY_EMBED_TIMEOUT_SECONDS EMBEDDINGS_FILE "
        "ENABLE_RETRIEVAL_AUDIT MIN_REFERENCE_SIMILARITY MAX_REFERENCE_CHARS_PER_ITEM ENABLE_ITEM_TAG_FILTER "
        "REFERENCE_SCORE_SOURCE ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH ENABLE_REFERENCE_VALIDATION VALIDATION_MODEL "
        "VALIDATION_MAX_REFS_PER_ITEM"
    ),
    "MODEL_": "QUALITATIVE_MODEL JUDGE_MODEL META_REVIEW_MODEL QUANTITATIVE_MODEL EMBEDDING_MODEL TEMPERATURE",
    "OLLAMA_": "HOST PORT TIMEOUT_SECONDS",
    "PYDANTIC_AI_": "ENABLED RETRIES TIMEOUT_SECONDS",
    "LLM_": "BACKEND HF_DEVICE HF_QUANTIZATION HF_CACHE_DIR HF_TOKEN",
    "HF_": "DEFAULT_CHAT_TIMEOUT DEFAULT_EMBED_TIMEOUT MAX_NEW_TOKENS QUANTIZATION_GROUP_SIZE",
    "QUANTITATIVE_": (
        "TRACK_NA_REASONS SEVERITY_INFERENCE_MODE EVIDENCE_QUOTE_VALIDATION_ENABLED EVIDENCE_QUOTE_VALIDATION_MODE "
        "EVIDENCE_QUOTE_FUZZY_THRESHOLD EVIDENCE_QUOTE_FAIL_ON_ALL_REJECTED EVIDENCE_QUOTE_LOG_REJECTIONS "
        "ENABLE_KEYWORD_BACKFILL KEYWORD_BACKFILL_CAP"
    ),
    "": (
        "PREDICTION_MODE TOTAL_SCORE_MIN_COVERAGE BINARY_THRESHOLD BINARY_STRATEGY ENABLE_FEW_SHOT "
        "SEVERITY_INFERENCE_MODE TESTING"
    ),
    "CONSISTENCY_": "ENABLED N_SAMPLES TEMPERATURE",
    "FEEDBACK_": "ENABLED MAX_ITERATIONS SCORE_THRESHOLD TARGET_SCORE",
    "DATA_": "BASE_DIR TRANSCRIPTS_DIR EMBEDDINGS_PATH TRAIN_CSV DEV_CSV",
    "LOG_": "LEVEL FORMAT INCLUDE_TIMESTAMP INCLUDE_CALLER",
    "API_": "HOST PORT WORKERS CORS_ORIGINS RELOAD",
    "SERVER_": "AD_HOC_PARTICIPANT_ID",
}
ALL_NAMES = [prefix + name for prefix, names in NAMES.items() for name in names.split()]


def problems(**asked: Any) -> list[str]:
    with pytest.raises(Refused) as refusal:
        resolve(**{"environment": {}, "profile": "paper"} | asked)
    return [line.removeprefix("- ") for line in str(refusal.value).splitlines()[1:-1]]


def given(name: str, value: str, how: str, tmp_path: Path) -> EffectiveSettings:
    if how == "option":
        return resolve(profile="paper", environment={}, options={name: value})
    if how == "environment":
        return resolve(profile="paper", environment={name: value})
    file = tmp_path / ".env"
    file.write_text(f"{name}={value}\n")
    return resolve(profile="paper", environment={}, env_file=file)


EVERYWHERE = pytest.mark.parametrize("how", ["file", "environment", "option"])


def test_every_name_of_the_original_is_known_and_the_table_has_no_other() -> None:
    assert ORIGINAL_NAMES <= set(ALL_NAMES) <= ORIGINAL_NAMES | RUN_SETTINGS.keys() | PROCESS_SETTINGS.keys()


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_name_without_effect_is_warned_about_and_its_value_is_not_shown(name: str, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{name}=hidden\n")

    settings = resolve(profile="paper", environment={}, env_file=file)

    assert name not in RUN_SETTINGS.keys() | PROCESS_SETTINGS.keys()
    note = WITHOUT_EFFECT[name]
    assert settings.warnings == (f"{name} (file {file}) has no effect: {note}.",)
    assert resolve(profile="paper", environment={name: ""}).warnings == ()
    assert problems(options={name: "hidden"}) == [f"{name} (option --set) has no effect: {note}."]


@EVERYWHERE
@pytest.mark.parametrize(
    ("name", "refused", "accepted"),
    [
        ("PYDANTIC_AI_ENABLED", "false", "True"),
        ("BINARY_STRATEGY", "ensemble", "threshold"),
        ("LLM_BACKEND", "huggingface", "ollama"),
        ("QUANTITATIVE_ENABLE_KEYWORD_BACKFILL", "true", "false"),
    ],
)
def test_a_value_that_ragq_does_not_have_is_refused_once(
    how: str, name: str, refused: str, accepted: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="1 setting cannot be used") as refusal:
        given(name, refused, how, tmp_path)

    assert f"- {name} is {refused!r} (" in str(refusal.value)
    assert f"; allowed is {LIMITED[name].in_words}: {LIMITED[name].note}.\n" in str(refusal.value)
    assert given(name, accepted, how, tmp_path).warnings == ()


def test_two_values_under_the_two_names_of_the_severity_mode_are_refused() -> None:
    both = {"SEVERITY_INFERENCE_MODE": "infer", "QUANTITATIVE_SEVERITY_INFERENCE_MODE": "strict"}
    problem = (
        "SEVERITY_INFERENCE_MODE=infer ({0}) and QUANTITATIVE_SEVERITY_INFERENCE_MODE=strict ({0}) are two names of "
        "one setting; remove SEVERITY_INFERENCE_MODE."
    )

    assert problems(environment=both) == [problem.format("environment")]
    assert problems(options=both) == [problem.format("option --set")]
    same = dict.fromkeys(both, "infer")
    assert resolve(profile="paper", environment=same).run.quantitative.severity_inference_mode == "infer"
    by_option = resolve(environment={"SEVERITY_INFERENCE_MODE": "infer"}, options={list(both)[1]: "strict"})
    assert by_option.run.quantitative.severity_inference_mode == "strict"


@pytest.mark.parametrize(
    ("environment", "timeouts"),
    [
        ({}, (600, 600)),
        ({"OLLAMA_TIMEOUT_SECONDS": "3600"}, (3600, 3600)),
        ({"PYDANTIC_AI_TIMEOUT_SECONDS": "3600.0"}, (3600, 3600)),
        ({"PYDANTIC_AI_TIMEOUT_SECONDS": "3600", "OLLAMA_TIMEOUT_SECONDS": "3600"}, (3600, 3600)),
    ],
)
def test_one_timeout_is_copied_to_the_other(environment: dict[str, str], timeouts: tuple[int, int]) -> None:
    settings = resolve(profile="paper", environment=environment)

    assert (settings.run.score_timeout_s, settings.run.ollama.timeout_seconds) == timeouts
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CONSISTENCY_N_SAMPLE", "CONSISTENCY_N_SAMPLES"),
        ("LOG_LEVL", "LOG_LEVEL"),
        ("DATA_BASEDIR", "DATA_BASE_DIR"),
        ("ENABLE_FEWSHOT", "ENABLE_FEW_SHOT"),
        ("PREDICTON_MODE", "PREDICTION_MODE"),
        ("QUANTITATIVE_SEVERITY_INFERENC_MODE", "QUANTITATIVE_SEVERITY_INFERENCE_MODE"),
    ],
)
def test_a_name_near_a_known_one_is_refused_with_a_suggestion(name: str, meant: str, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{name}=1\n")

    assert problems(environment={name: "1"}) == [f"{name} (environment) is not a setting; did you mean {meant}?"]
    assert problems(env_file=file) == [f"{name} (file {file}) is not a setting; did you mean {meant}?"]
