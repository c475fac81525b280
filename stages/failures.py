"""Categories of exceptions, transport errors, and what of an exception may be shown.

Messages of ragq's own exceptions are safe to log. The message of any other may quote a transcript: it is stored in
Postgres alone, and only the exception's type is shown.
"""

import traceback
from enum import StrEnum
from typing import Any, Final

from schemas import errors
from stages.models import asked_server
from stages.texts.characters import storable

#: Classes by name, so that a stage need not import HTTP to know its exceptions.
TRANSPORT_ERRORS: Final = frozenset({"httpx.TransportError", "builtins.ConnectionError"})


class FailureSeverity(StrEnum):
    """The severity of a failure."""

    #: The pipeline failed, or its results cannot be trusted: handle it first.
    FATAL = "fatal"
    #: One subject failed.
    ERROR = "error"
    #: A subject succeeded, and something about it could not be computed.
    WARNING = "warning"


class FailureCategory(StrEnum):
    """The category of a failure, for counting in reports."""

    TRANSCRIPT_NOT_FOUND = "transcript_not_found"
    TRANSCRIPT_PARSE_ERROR = "transcript_parse_error"
    TRANSCRIPT_EMPTY = "transcript_empty"
    INPUT_CHANGED = "input_changed"
    EVIDENCE_JSON_PARSE = "evidence_json_parse"
    EVIDENCE_SCHEMA_INVALID = "evidence_schema_invalid"
    EVIDENCE_HALLUCINATION = "evidence_hallucination"
    EVIDENCE_LLM_TIMEOUT = "evidence_llm_timeout"
    EMBEDDING_NAN = "embedding_nan"
    EMBEDDING_INF = "embedding_inf"
    EMBEDDING_ZERO_VECTOR = "embedding_zero_vector"
    EMBEDDING_INVALID_VECTOR = "embedding_invalid_vector"
    EMBEDDING_DIMENSION_MISMATCH = "embedding_dimension_mismatch"
    EMBEDDING_TEXT_TOO_LONG = "embedding_text_too_long"
    EMBEDDING_TIMEOUT = "embedding_timeout"
    REFERENCE_ARTIFACT_MISSING = "reference_artifact_missing"
    REFERENCE_ARTIFACT_CORRUPT = "reference_artifact_corrupt"
    REFERENCE_ARTIFACT_MISMATCH = "reference_artifact_mismatch"
    #: Refused at import and at submission: no stage raises it.
    REFERENCE_TAG_MISMATCH = "reference_tag_mismatch"
    REFERENCE_LEAK = "reference_leak"
    RERANK_ERROR = "rerank_error"
    RERANK_TIMEOUT = "rerank_timeout"
    VALIDATION_JSON_PARSE = "validation_json_parse"
    VALIDATION_LLM_TIMEOUT = "validation_llm_timeout"
    SCORING_JSON_PARSE = "scoring_json_parse"
    SCORING_SCHEMA_INVALID = "scoring_schema_invalid"
    SCORING_LLM_TIMEOUT = "scoring_llm_timeout"
    SCORING_RETRY_EXHAUSTED = "scoring_pydantic_retry_exhausted"
    EXPANSION_JSON_PARSE = "expansion_json_parse"
    EXPANSION_SCHEMA_INVALID = "expansion_schema_invalid"
    EXPANSION_LLM_TIMEOUT = "expansion_llm_timeout"
    CORPUS_MISSING = "corpus_missing"
    DOCUMENT_UNREADABLE = "document_unreadable"
    REPAIR_REPLY_UNUSABLE = "repair_reply_unusable"
    REPAIR_LLM_TIMEOUT = "repair_llm_timeout"
    SELECT_REPLY_UNUSABLE = "select_reply_unusable"
    SELECT_LLM_TIMEOUT = "select_llm_timeout"
    NOTHING_RELEVANT = "nothing_relevant"
    TEMPLATE_INVALID = "template_invalid"
    VOCABULARY_UNUSABLE = "vocabulary_unusable"
    TAG_CONTRACT_BROKEN = "tag_contract_broken"
    ANSWER_UNUSABLE = "answer_unusable"
    ANSWER_LLM_TIMEOUT = "answer_llm_timeout"
    #: Found by a report, like the next one: the participant has no item labels.
    GROUND_TRUTH_MISSING = "ground_truth_missing"
    GROUND_TRUTH_INVALID = "ground_truth_invalid"
    MODEL_CHANGED = "model_changed"
    LLM_ERROR = "llm_error"
    TRANSPORT = "transport"
    WORKER_LOST = "worker_lost"
    #: No failure: the stage was given back until its server of language models takes calls again.
    LLM_LIMIT = "llm_limit"
    #: No failure: the job was cancelled while the stage ran.
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def severity(self) -> FailureSeverity:
        """Its severity."""
        if self in _FATAL:
            return FailureSeverity.FATAL
        return FailureSeverity.WARNING if self in _WARNING else FailureSeverity.ERROR


_FATAL: Final = frozenset(
    {
        FailureCategory.REFERENCE_ARTIFACT_MISSING,
        FailureCategory.REFERENCE_ARTIFACT_CORRUPT,
        FailureCategory.REFERENCE_ARTIFACT_MISMATCH,
        FailureCategory.REFERENCE_TAG_MISMATCH,
        FailureCategory.REFERENCE_LEAK,
        FailureCategory.EMBEDDING_DIMENSION_MISMATCH,
        FailureCategory.MODEL_CHANGED,
        FailureCategory.WORKER_LOST,
    }
)

_WARNING: Final = frozenset(
    {
        FailureCategory.GROUND_TRUTH_MISSING,
        FailureCategory.GROUND_TRUTH_INVALID,
        FailureCategory.LLM_LIMIT,
        FailureCategory.CANCELLED,
    }
)

_BY_TYPE: Final[tuple[tuple[type[Exception], FailureCategory], ...]] = (
    (errors.EmptyTranscriptError, FailureCategory.TRANSCRIPT_EMPTY),
    (errors.TranscriptNotFoundError, FailureCategory.TRANSCRIPT_NOT_FOUND),
    (errors.TranscriptError, FailureCategory.TRANSCRIPT_PARSE_ERROR),
    (errors.InputChangedError, FailureCategory.INPUT_CHANGED),
    (errors.EvidenceSchemaError, FailureCategory.EVIDENCE_SCHEMA_INVALID),
    (errors.EvidenceGroundingError, FailureCategory.EVIDENCE_HALLUCINATION),
    (errors.EmbeddingDimensionMismatchError, FailureCategory.EMBEDDING_DIMENSION_MISMATCH),
    (errors.TextTooLongError, FailureCategory.EMBEDDING_TEXT_TOO_LONG),
    (errors.ReferenceIndexMissingError, FailureCategory.REFERENCE_ARTIFACT_MISSING),
    (errors.EmbeddingArtifactMismatchError, FailureCategory.REFERENCE_ARTIFACT_MISMATCH),
    (errors.RerankError, FailureCategory.RERANK_ERROR),
    (errors.ReferenceLeakError, FailureCategory.REFERENCE_LEAK),
    (errors.ScoringRetriesExhausted, FailureCategory.SCORING_RETRY_EXHAUSTED),
    (errors.ScoringSchemaError, FailureCategory.SCORING_SCHEMA_INVALID),
    (errors.ExpansionReplyError, FailureCategory.EXPANSION_SCHEMA_INVALID),
    (errors.CorpusMissingError, FailureCategory.CORPUS_MISSING),
    (errors.DocumentError, FailureCategory.DOCUMENT_UNREADABLE),
    (errors.NothingRelevantError, FailureCategory.NOTHING_RELEVANT),
    (errors.TemplateError, FailureCategory.TEMPLATE_INVALID),
    (errors.VocabularyError, FailureCategory.VOCABULARY_UNUSABLE),
    (errors.TagContractError, FailureCategory.TAG_CONTRACT_BROKEN),
    (errors.ModelChangedError, FailureCategory.MODEL_CHANGED),
)

_BY_DEFECT: Final = {
    errors.VectorDefect.NAN: FailureCategory.EMBEDDING_NAN,
    errors.VectorDefect.INFINITE: FailureCategory.EMBEDDING_INF,
    errors.VectorDefect.ZERO: FailureCategory.EMBEDDING_ZERO_VECTOR,
    None: FailureCategory.EMBEDDING_INVALID_VECTOR,
}

_PARSE_BY_STAGE: Final = {
    "extract": FailureCategory.EVIDENCE_JSON_PARSE,
    "validate": FailureCategory.VALIDATION_JSON_PARSE,
    "score": FailureCategory.SCORING_JSON_PARSE,
    "expand": FailureCategory.EXPANSION_JSON_PARSE,
    "generate": FailureCategory.ANSWER_UNUSABLE,
    "repair": FailureCategory.REPAIR_REPLY_UNUSABLE,
    "select": FailureCategory.SELECT_REPLY_UNUSABLE,
    "judge": FailureCategory.VALIDATION_JSON_PARSE,
}

_TIMEOUT_BY_STAGE: Final = {
    "extract": FailureCategory.EVIDENCE_LLM_TIMEOUT,
    "embed": FailureCategory.EMBEDDING_TIMEOUT,
    "rerank": FailureCategory.RERANK_TIMEOUT,
    "validate": FailureCategory.VALIDATION_LLM_TIMEOUT,
    "score": FailureCategory.SCORING_LLM_TIMEOUT,
    "expand": FailureCategory.EXPANSION_LLM_TIMEOUT,
    "generate": FailureCategory.ANSWER_LLM_TIMEOUT,
    "repair": FailureCategory.REPAIR_LLM_TIMEOUT,
    "select": FailureCategory.SELECT_LLM_TIMEOUT,
    "judge": FailureCategory.VALIDATION_LLM_TIMEOUT,
}


def class_name(kind: type[BaseException]) -> str:
    """A class of exceptions as `module.Class`."""
    return f"{kind.__module__}.{kind.__qualname__}"


def type_name(error: BaseException) -> str:
    """The class of an exception as `module.Class`."""
    return class_name(type(error))


def is_transport_error(error: BaseException) -> bool:
    """Whether a request or its reply was lost, so that a retry may help.

    True for connection errors, time-outs, and replies with status 429 or 5xx.
    """
    if isinstance(error, errors.LLMTimeoutError):
        return True
    if isinstance(error, errors.LLMError):
        status = getattr(error, "status", None)
        return status is not None and (status == 429 or status >= 500)
    return any(class_name(base) in TRANSPORT_ERRORS for base in type(error).__mro__)


def categorise(error: BaseException, stage: str) -> FailureCategory:
    """The category of an exception that a stage raised."""
    if isinstance(error, errors.EmbeddingValidationError):
        return _BY_DEFECT[error.defect]
    if isinstance(error, errors.ReferenceTextError):
        missing, corrupt = FailureCategory.REFERENCE_ARTIFACT_MISSING, FailureCategory.REFERENCE_ARTIFACT_CORRUPT
        return missing if error.is_gone else corrupt
    for kind, category in _BY_TYPE:
        if isinstance(error, kind):
            return category
    if isinstance(error, errors.LLMResponseParseError):
        return _PARSE_BY_STAGE.get(stage, FailureCategory.LLM_ERROR)
    if isinstance(error, errors.LLMTimeoutError):
        return _TIMEOUT_BY_STAGE.get(stage, FailureCategory.LLM_ERROR)
    if is_transport_error(error):
        return FailureCategory.TRANSPORT
    return FailureCategory.LLM_ERROR if isinstance(error, errors.LLMError) else FailureCategory.UNKNOWN


def shown_message(error: BaseException) -> str:
    """The message of an exception that may be shown and logged."""
    if isinstance(error, errors.RagqError):
        return str(error)
    server = asked_server(error)
    asked = "" if server is None else f" of a request to {server}"
    return f"{type_name(error)}{asked} (its message is stored with the attempt)"


def private_details(error: BaseException) -> dict[str, Any]:
    """What is stored and never logged: the message, the replies of a model or its server, the page of a document, and
    the traceback."""
    details: dict[str, Any] = {
        "message": storable(str(error)),
        "frames": [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ],
    }
    if isinstance(error, errors.LLMResponseParseError):
        details["raw_response"] = storable(error.raw_response)
    if isinstance(error, errors.LLMError) and error.detail:
        details["server_reply"] = storable(error.detail)
    if isinstance(error, errors.DocumentError) and error.page is not None:
        details["page"] = error.page
    if error.__cause__ is not None:
        details["cause"] = f"{type_name(error.__cause__)}: {storable(str(error.__cause__))}"
    return details
