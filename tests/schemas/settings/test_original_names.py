"""Every environment name of ai-psychiatrist has its effect, is refused, or is warned about."""

from pathlib import Path
from typing import Any

import pytest

from schemas.settings.names import LIMITED, ORIGINAL_NAMES, WITHOUT_EFFECT
from schemas.settings.process import PROCESS_SETTINGS
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.settings.run import RUN_SETTINGS
from tests.schemas.settings.test_resolve import problems

#: Of the original's configuration, without the settings of runs that test_run pins.
NAMES = """
MODEL_QUALITATIVE_MODEL MODEL_META_REVIEW_MODEL LLM_BACKEND LLM_HF_DEVICE LLM_HF_QUANTIZATION LLM_HF_CACHE_DIR
LLM_HF_TOKEN HF_DEFAULT_CHAT_TIMEOUT HF_DEFAULT_EMBED_TIMEOUT HF_MAX_NEW_TOKENS HF_QUANTIZATION_GROUP_SIZE
PYDANTIC_AI_ENABLED QUANTITATIVE_ENABLE_KEYWORD_BACKFILL QUANTITATIVE_KEYWORD_BACKFILL_CAP SEVERITY_INFERENCE_MODE
BINARY_STRATEGY TESTING FEEDBACK_ENABLED FEEDBACK_MAX_ITERATIONS FEEDBACK_SCORE_THRESHOLD FEEDBACK_TARGET_SCORE
DATA_BASE_DIR DATA_TRANSCRIPTS_DIR DATA_EMBEDDINGS_PATH DATA_TRAIN_CSV DATA_DEV_CSV LOG_INCLUDE_TIMESTAMP
LOG_INCLUDE_CALLER API_HOST API_PORT API_WORKERS API_CORS_ORIGINS API_RELOAD SERVER_AD_HOC_PARTICIPANT_ID
"""


def resolved(**asked: Any) -> EffectiveSettings:
    return resolve(**{"environment": {}, "profile": "paper"} | asked)


def ways(name: str, value: str, tmp_path: Path) -> list[dict[str, Any]]:
    """To give a value: in a file, in the environment, and by an option."""
    file = tmp_path / ".env"
    file.write_text(f"{name}={value}\n")
    return [{"env_file": file}, {"environment": {name: value}}, {"options": {name: value}}]


def test_every_name_of_the_original_is_known_and_the_table_has_no_other() -> None:
    assert set(NAMES.split()) == ORIGINAL_NAMES
    assert {"OLLAMA_HOST", "OLLAMA_PORT", "LOG_LEVEL", "LOG_FORMAT"} <= PROCESS_SETTINGS.keys()


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_name_without_effect_is_warned_about_and_its_value_is_not_shown(name: str, tmp_path: Path) -> None:
    in_file, _, by_option = ways(name, "hidden", tmp_path)

    assert name not in RUN_SETTINGS.keys() | PROCESS_SETTINGS.keys()
    note = WITHOUT_EFFECT[name]
    assert resolved(**in_file).warnings == (f"{name} (file {in_file['env_file']}) has no effect: {note}.",)
    assert resolved(environment={name: ""}).warnings == ()
    assert problems(**by_option) == [f"{name} (option --set) has no effect: {note}."]


@pytest.mark.parametrize(
    ("name", "refused", "accepted"),
    [
        ("PYDANTIC_AI_ENABLED", "false", "True"),
        ("BINARY_STRATEGY", "ensemble", "threshold"),
        ("LLM_BACKEND", "huggingface", "ollama"),
        ("QUANTITATIVE_ENABLE_KEYWORD_BACKFILL", "true", "false"),
    ],
)
def test_a_value_that_ragq_lacks_is_refused_once(name: str, refused: str, accepted: str, tmp_path: Path) -> None:
    values, note = LIMITED[name]
    allowed = f"allowed is {' or '.join(values[:2])}: {note}."
    for asked, origin in zip(ways(name, refused, tmp_path), ("file", "environment", "option"), strict=True):
        (problem,) = problems(**asked)
        assert problem.startswith(f"{name} is {refused!r} ({origin}")
        assert problem.endswith(f"; {allowed}")
    assert [resolved(**asked).warnings for asked in ways(name, accepted, tmp_path)] == [()] * 3


def test_two_values_under_the_two_names_of_the_severity_mode_are_refused() -> None:
    both = {"SEVERITY_INFERENCE_MODE": "infer", "QUANTITATIVE_SEVERITY_INFERENCE_MODE": "strict"}
    problem = (
        "SEVERITY_INFERENCE_MODE=infer ({0}) and QUANTITATIVE_SEVERITY_INFERENCE_MODE=strict ({0}) are two names of "
        "one setting; remove SEVERITY_INFERENCE_MODE."
    )

    assert problems(environment=both) == [problem.format("environment")]
    assert problems(options=both) == [problem.format("option --set")]
    same = dict.fromkeys(both, "infer")
    assert resolved(environment=same).run.quantitative.severity_inference_mode == "infer"
    by_option = resolve(environment={"SEVERITY_INFERENCE_MODE": "infer"}, options={list(both)[1]: "strict"})
    assert by_option.run.quantitative.severity_inference_mode == "strict"


def test_one_timeout_is_copied_to_the_other() -> None:
    scoring, all_others = {"PYDANTIC_AI_TIMEOUT_SECONDS": "3600.0"}, {"OLLAMA_TIMEOUT_SECONDS": "3600"}
    for environment, timeout in (({}, 600), (scoring, 3600), (all_others, 3600), (scoring | all_others, 3600)):
        settings = resolved(environment=environment)
        assert (settings.run.score_timeout_s, settings.run.ollama.timeout_seconds) == (timeout, timeout)
        assert settings.warnings == ()


def test_a_name_near_a_known_one_is_refused_with_a_suggestion() -> None:
    meant = {
        "CONSISTENCY_N_SAMPLE": "CONSISTENCY_N_SAMPLES",
        "LOG_LEVL": "LOG_LEVEL",
        "DATA_BASEDIR": "DATA_BASE_DIR",
        "ENABLE_FEWSHOT": "ENABLE_FEW_SHOT",
        "PREDICTON_MODE": "PREDICTION_MODE",
        "QUANTITATIVE_SEVERITY_INFERENC_MODE": "QUANTITATIVE_SEVERITY_INFERENCE_MODE",
    }
    for name, known in meant.items():
        assert problems(environment={name: "1"}) == [f"{name} (environment) is not a setting; did you mean {known}?"]
