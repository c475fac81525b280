"""The environment names of ai-psychiatrist, and what ragq does with each of them.

ORIGINAL_NAMES is the one list: the behaviour, `ragq config check` and the table in docs/settings.md follow from it.
"""

from enum import StrEnum
from typing import Final, NamedTuple

_TRUE = ("true", "1", "yes", "on", "t", "y")
_FALSE = ("false", "0", "no", "off", "f", "n")


class Treatment(StrEnum):
    """What ragq does with a name."""

    #: It has its effect.
    HONOURED = "honoured"
    #: Refused, but for some of its values.
    REFUSED = "refused"
    #: It has no effect, and a warning names what to use instead.
    WARNED = "warned about"


class OriginalName(NamedTuple):
    """A name of the original's environment."""

    treatment: Treatment
    note: str
    """The effect, the reason of the refusal, or what to use instead: the end of a sentence, without a full stop."""
    accepted: tuple[str, ...] = ()
    """Of REFUSED: the values that are not refused, in small letters."""
    another_name_of: str | None = None

    @property
    def accepted_in_words(self) -> str:
        """The accepted values; the first two ways to write true or false are enough."""
        return " or ".join(self.accepted[:2])

    @property
    def in_words(self) -> str:
        """Its treatment, with the values that are not refused."""
        return f"{self.treatment}, except {self.accepted_in_words}" if self.accepted else self.treatment


def _same(*names: str) -> dict[str, OriginalName]:
    return {name: OriginalName(Treatment.HONOURED, "the setting of this name") for name in names}


def _warned(note: str, *names: str) -> dict[str, OriginalName]:
    return {name: OriginalName(Treatment.WARNED, note) for name in names}


_NO_FEEDBACK = "ragq has no qualitative assessment and no feedback loop; nothing replaces it"

ORIGINAL_NAMES: Final[dict[str, OriginalName]] = {
    **_same(
        "EMBEDDING_BACKEND",
        "EMBEDDING_DIMENSION",
        "EMBEDDING_ALLOW_INSUFFICIENT_DIMENSION_EMBEDDINGS",
        "EMBEDDING_CHUNK_SIZE",
        "EMBEDDING_CHUNK_STEP",
        "EMBEDDING_TOP_K_REFERENCES",
        "EMBEDDING_MIN_EVIDENCE_CHARS",
        "EMBEDDING_ENABLE_BATCH_QUERY_EMBEDDING",
        "EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS",
        "EMBEDDING_EMBEDDINGS_FILE",
        "EMBEDDING_ENABLE_RETRIEVAL_AUDIT",
        "EMBEDDING_MIN_REFERENCE_SIMILARITY",
        "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM",
        "EMBEDDING_ENABLE_ITEM_TAG_FILTER",
        "EMBEDDING_REFERENCE_SCORE_SOURCE",
        "EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH",
        "EMBEDDING_ENABLE_REFERENCE_VALIDATION",
        "EMBEDDING_VALIDATION_MODEL",
        "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM",
        "MODEL_QUANTITATIVE_MODEL",
        "MODEL_JUDGE_MODEL",
        "MODEL_EMBEDDING_MODEL",
        "MODEL_TEMPERATURE",
    ),
    **_warned(_NO_FEEDBACK, "MODEL_QUALITATIVE_MODEL", "MODEL_META_REVIEW_MODEL"),
    **_same("OLLAMA_HOST", "OLLAMA_PORT"),
    "OLLAMA_TIMEOUT_SECONDS": OriginalName(
        Treatment.HONOURED, "the setting of this name; if unset, the value of `PYDANTIC_AI_TIMEOUT_SECONDS`"
    ),
    "PYDANTIC_AI_ENABLED": OriginalName(
        Treatment.REFUSED, "replies are always checked, and asked for again when they cannot be used", _TRUE
    ),
    **_same("PYDANTIC_AI_RETRIES"),
    "PYDANTIC_AI_TIMEOUT_SECONDS": OriginalName(
        Treatment.HONOURED, "the setting of this name; if unset, the value of `OLLAMA_TIMEOUT_SECONDS`"
    ),
    "LLM_BACKEND": OriginalName(
        Treatment.REFUSED,
        "ragq asks a server for replies: serve the model with one that has OpenAI's API, and set LLM_BACKEND=openai "
        "and RAGQ_OPENAI_BASE_URL",
        ("ollama", "openai"),
    ),
    **_warned(
        "ragq chooses the device of the embedder itself; set CUDA_VISIBLE_DEVICES to choose one", "LLM_HF_DEVICE"
    ),
    **_warned(
        "ragq quantises no model: name a quantised model of the server, or one of the hub for the embedder",
        "LLM_HF_QUANTIZATION",
        "HF_QUANTIZATION_GROUP_SIZE",
    ),
    **_warned("set HF_HOME, which the library for models reads", "LLM_HF_CACHE_DIR"),
    **_warned("set HF_TOKEN, which the library for models reads", "LLM_HF_TOKEN"),
    **_warned("set OLLAMA_TIMEOUT_SECONDS", "HF_DEFAULT_CHAT_TIMEOUT"),
    **_warned("set EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS", "HF_DEFAULT_EMBED_TIMEOUT"),
    **_warned("the server limits the length of a reply; a reply that is cut off is an error", "HF_MAX_NEW_TOKENS"),
    **_same("QUANTITATIVE_TRACK_NA_REASONS", "QUANTITATIVE_SEVERITY_INFERENCE_MODE"),
    "SEVERITY_INFERENCE_MODE": OriginalName(
        Treatment.HONOURED,
        "another name of `QUANTITATIVE_SEVERITY_INFERENCE_MODE`; both with different values are refused",
        another_name_of="QUANTITATIVE_SEVERITY_INFERENCE_MODE",
    ),
    **_same(
        "QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_ENABLED",
        "QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MODE",
        "QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD",
        "QUANTITATIVE_EVIDENCE_QUOTE_FAIL_ON_ALL_REJECTED",
        "QUANTITATIVE_EVIDENCE_QUOTE_LOG_REJECTIONS",
    ),
    "QUANTITATIVE_ENABLE_KEYWORD_BACKFILL": OriginalName(
        Treatment.REFUSED, "ragq has no keyword backfill, which the original removed", _FALSE
    ),
    **_warned("ragq has no keyword backfill, which the original removed", "QUANTITATIVE_KEYWORD_BACKFILL_CAP"),
    **_same("PREDICTION_MODE", "TOTAL_SCORE_MIN_COVERAGE", "BINARY_THRESHOLD"),
    "BINARY_STRATEGY": OriginalName(Treatment.REFUSED, "the original defines no other strategy", ("threshold",)),
    **_same("ENABLE_FEW_SHOT", "CONSISTENCY_ENABLED", "CONSISTENCY_N_SAMPLES", "CONSISTENCY_TEMPERATURE"),
    **_warned(
        _NO_FEEDBACK,
        "FEEDBACK_ENABLED",
        "FEEDBACK_MAX_ITERATIONS",
        "FEEDBACK_SCORE_THRESHOLD",
        "FEEDBACK_TARGET_SCORE",
    ),
    "DATA_BASE_DIR": OriginalName(
        Treatment.HONOURED,
        "the folder of `ragq import participants` and `ragq references` when they name none",
    ),
    "DATA_TRANSCRIPTS_DIR": OriginalName(
        Treatment.HONOURED, "the folder of transcripts of `ragq import participants` without `--transcripts`"
    ),
    "DATA_EMBEDDINGS_PATH": OriginalName(
        Treatment.HONOURED, "the file of `ragq references import` without FILE; the index has the name that runs search"
    ),
    **_warned(
        "`ragq import participants` reads the label files of its folder under their published names",
        "DATA_TRAIN_CSV",
        "DATA_DEV_CSV",
    ),
    **_same("LOG_LEVEL", "LOG_FORMAT"),
    **_warned("log lines have a time and the name of their event", "LOG_INCLUDE_TIMESTAMP", "LOG_INCLUDE_CALLER"),
    **_warned("set RAGQ_API_HOST", "API_HOST"),
    **_warned("set RAGQ_API_PORT", "API_PORT"),
    **_warned("set RAGQ_API_CORS_ORIGINS, names with commas between", "API_CORS_ORIGINS"),
    **_warned("`ragq api` is one process; start more of them on other values of RAGQ_API_PORT", "API_WORKERS"),
    **_warned("`ragq api` does not reload its code; start it again", "API_RELOAD"),
    **_warned("ragq scores imported participants, each under the id of its folder", "SERVER_AD_HOC_PARTICIPANT_ID"),
    "TESTING": OriginalName(Treatment.HONOURED, "if set, no `.env` file is read"),
}
"""In the order of the original's groups."""
