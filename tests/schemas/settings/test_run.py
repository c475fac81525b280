from typing import Any

import pytest

from schemas.errors import Refused
from schemas.settings import run
from schemas.settings.base import Layer, allowed
from schemas.settings.resolve import resolve

#: Of each setting: the default, values that it accepts, and values that it does not.
PINNED: dict[str, tuple[Any, list[str], list[str]]] = {
    "EMBEDDING_BACKEND": ("huggingface", ["ollama", "huggingface", "openai"], ["OLLAMA", ""]),
    "EMBEDDING_DIMENSION": (4096, ["1"], ["0", "3.5", ""]),
    "EMBEDDING_ALLOW_INSUFFICIENT_DIMENSION_EMBEDDINGS": (False, [], []),
    "EMBEDDING_CHUNK_SIZE": (8, ["2", "20"], ["1", "21"]),
    "EMBEDDING_CHUNK_STEP": (2, ["1"], ["0"]),
    "EMBEDDING_TOP_K_REFERENCES": (2, ["1", "10"], ["0", "11", "nan"]),
    "EMBEDDING_MIN_EVIDENCE_CHARS": (8, ["0"], ["-1"]),
    "EMBEDDING_ENABLE_BATCH_QUERY_EMBEDDING": (True, [], []),
    "EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS": (300, ["30", "3600"], ["29", "3601"]),
    "EMBEDDING_EMBEDDINGS_FILE": ("huggingface_qwen3_8b_paper_train", ["a"], [""]),
    "EMBEDDING_ENABLE_RETRIEVAL_AUDIT": (False, [], []),
    "EMBEDDING_MIN_REFERENCE_SIMILARITY": (0.0, ["0", "1"], ["-0.1", "1.1", "nan", "inf"]),
    "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": (0, ["0"], ["-1"]),
    "EMBEDDING_ENABLE_ITEM_TAG_FILTER": (False, [], []),
    "EMBEDDING_REFERENCE_SCORE_SOURCE": ("participant", ["participant", "chunk"], ["both"]),
    "EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH": (False, [], []),
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION": (False, ["true", "false", "1", "0"], ["maybe", ""]),
    "EMBEDDING_VALIDATION_MODEL": ("", ["", "a"], []),
    "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM": (2, ["1"], ["0"]),
    "MODEL_QUANTITATIVE_MODEL": ("gemma3:27b", [], []),
    "MODEL_JUDGE_MODEL": ("gemma3:27b", [], []),
    "MODEL_EMBEDDING_MODEL": ("qwen3-embedding:8b", [], []),
    "MODEL_TEMPERATURE": (0.0, ["0", "2"], ["-1", "2.1", "nan"]),
    "LLM_BACKEND": ("ollama", ["ollama", "openai"], ["huggingface"]),
    "OLLAMA_TIMEOUT_SECONDS": (600, ["10"], ["9"]),
    "QUANTITATIVE_EVIDENCE_EXTRACTOR": ("llm", ["llm", "similarity"], ["given"]),
    "QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_ENABLED": (True, [], []),
    "QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MODE": ("substring", ["substring", "fuzzy"], ["exact"]),
    "QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD": (0.85, ["0.5", "1"], ["0.49", "1.01"]),
    "QUANTITATIVE_EVIDENCE_QUOTE_FAIL_ON_ALL_REJECTED": (False, [], []),
    "QUANTITATIVE_EVIDENCE_QUOTE_LOG_REJECTIONS": (True, [], []),
    "QUANTITATIVE_SEVERITY_INFERENCE_MODE": ("strict", ["strict", "infer"], ["guess"]),
    "QUANTITATIVE_TRACK_NA_REASONS": (True, [], []),
    "CONSISTENCY_ENABLED": (False, [], []),
    "CONSISTENCY_N_SAMPLES": (5, [], []),
    "CONSISTENCY_TEMPERATURE": (0.2, [], []),
    "PYDANTIC_AI_RETRIES": (5, [], []),
    "PYDANTIC_AI_TIMEOUT_SECONDS": (0.0, ["0", "0.5"], ["-1", "inf"]),
    "ENABLE_FEW_SHOT": (True, [], []),
    "PREDICTION_MODE": ("item", ["item", "total", "binary"], ["items", ""]),
    "TOTAL_SCORE_MIN_COVERAGE": (0.5, ["0", "1"], ["-0.1", "1.1", "nan"]),
    "BINARY_THRESHOLD": (10, ["0", "24"], ["-1", "25"]),
    "PSQ_RETRIEVAL_GLOBAL_K": (300, ["1"], ["0"]),
    "PSQ_RETRIEVAL_PER_PHRASE_K": (10, ["1"], ["0"]),
    "PSQ_RETRIEVAL_PER_PHRASE_FINAL_K": ("auto", ["1", "auto"], ["0"]),
    "PSQ_MIN_TAG_COUNT": ("auto", ["0", "auto"], ["-1", "some"]),
    "PSQ_SIMILARITY": ("fused", ["fused", "original"], ["tfidf"]),
    "PSQ_SKIP_FASTTEXT_FOR_EXACT_ALIAS": (True, ["0", "1"], ["2"]),
    "PSQ_CONTEXT_WEIGHT": (0.5, ["0", "1"], ["-0.1", "1.1", "nan"]),
    "PSQ_CONTEXT_TAG_WEIGHT": (1.0, ["0", "7.5"], ["-1", "inf"]),
    "RAGQ_RETRIEVE_CANDIDATES": (50, ["2", "1000"], ["0", "1001"]),
    "RAGQ_RETRIES": (0, ["0", "10"], ["-1", "11"]),
}


def test_names_and_defaults_are_those_of_the_seeds() -> None:
    assert run.RunSettings().values().items() >= {name: default for name, (default, *_) in PINNED.items()}.items()


@pytest.mark.parametrize(("name", "inside", "outside"), [(name, *values) for name, (_, *values) in PINNED.items()])
def test_ranges_are_enforced(name: str, inside: list[str], outside: list[str]) -> None:
    def problems(text: str) -> list[str]:
        return run.run_settings(Layer("test", {name: text}))[1]

    assert [problems(text) for text in inside] == [[]] * len(inside)
    assert [problems(text) for text in outside] == [
        [f"{name} is {text!r} (test); allowed is {allowed(run.RUN_SETTINGS[name])}."] for text in outside
    ]


def test_a_snapshot_of_another_version_is_refused_whole() -> None:
    snapshot = {"RAGQ_RETRIEZ": {"value": 2, "source": "option"}, "MODEL_TEMPERATURE": {"value": 9, "source": "file"}}

    with pytest.raises(Refused) as refusal:
        run.thaw(snapshot)

    assert str(refusal.value).splitlines()[:-1] == [
        "2 settings cannot be used:",
        "- RAGQ_RETRIEZ (stored with the run) is not a setting; did you mean RAGQ_RETRIES?",
        "- MODEL_TEMPERATURE is 9 (stored with the run); allowed is a number from 0 to 2.",
    ]
    with pytest.raises(Refused, match=r"retrieval\.dance"):
        run.thaw({"retrieval.dance": {"value": 1, "source": "default"}})


def test_the_hash_is_of_the_values_and_pinned() -> None:
    assert run.settings_hash(run.RunSettings()) == "9d296d737741b62f99c537b6f0e7f935fa6f46a28642a591a384020103806d54"
    assert run.settings_hash(run.RunSettings(ragq=run.RagqSettings(retries=1))) != run.settings_hash(run.RunSettings())


def test_the_scoring_model_answers_questions_for_an_empty_query_model() -> None:
    models = run.ModelSettings(quantitative_model="scorer")
    assert run.RunSettings(model=models).query_model == "scorer"
    assert run.RunSettings(model=models, ragq=run.RagqSettings(query_model="own")).query_model == "own"


def test_a_value_that_differs_from_the_profile_is_listed_with_the_profiles() -> None:
    settings = resolve(
        profile="demo",
        environment={"MODEL_JUDGE_MODEL": "judge", "EMBEDDING_TOP_K_REFERENCES": "3"},
        options={"EMBEDDING_CHUNK_SIZE": "10", "EMBEDDING_DIMENSION": "384"},
    )

    assert settings.changed == {
        "EMBEDDING_CHUNK_SIZE": {"value": 10, "source": "option", "profile": 8},
        "MODEL_JUDGE_MODEL": {"value": "judge", "source": "environment", "profile": "smollm2:135m"},
    }
