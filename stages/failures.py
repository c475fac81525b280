"""Categories of exceptions, transport errors, and what of an exception may be shown.

Messages of ragq's own exceptions are safe to log. The message of any other may quote a transcript: it is stored in
Postgres alone, and only the exception's type is shown.
"""

import traceback
from typing import Any, Final

from schemas import errors
from schemas.errors import FailureCategory
from stages.models import asked_server
from stages.texts.characters import storable

#: Classes by name, so that a stage need not import HTTP to know its exceptions.
TRANSPORT_ERRORS: Final = frozenset({"httpx.TransportError", "builtins.ConnectionError"})


#: Of a reply that cannot be used, and of one that did not come in time.
_BY_STAGE: Final = {
    "extract": (FailureCategory.EVIDENCE_JSON_PARSE, FailureCategory.EVIDENCE_LLM_TIMEOUT),
    "embed": (FailureCategory.LLM_ERROR, FailureCategory.EMBEDDING_TIMEOUT),
    "rerank": (FailureCategory.LLM_ERROR, FailureCategory.RERANK_TIMEOUT),
    "validate": (FailureCategory.VALIDATION_JSON_PARSE, FailureCategory.VALIDATION_LLM_TIMEOUT),
    "score": (FailureCategory.SCORING_JSON_PARSE, FailureCategory.SCORING_LLM_TIMEOUT),
    "expand": (FailureCategory.EXPANSION_JSON_PARSE, FailureCategory.EXPANSION_LLM_TIMEOUT),
    "generate": (FailureCategory.ANSWER_UNUSABLE, FailureCategory.ANSWER_LLM_TIMEOUT),
    "repair": (FailureCategory.REPAIR_REPLY_UNUSABLE, FailureCategory.REPAIR_LLM_TIMEOUT),
    "select": (FailureCategory.SELECT_REPLY_UNUSABLE, FailureCategory.SELECT_LLM_TIMEOUT),
    "judge": (FailureCategory.VALIDATION_JSON_PARSE, FailureCategory.VALIDATION_LLM_TIMEOUT),
}


def class_name(kind: type[BaseException]) -> str:
    """A class of exceptions as `module.Class`."""
    return f"{kind.__module__}.{kind.__qualname__}"


class StageFailed(Exception):
    """Raised in place of a foreign exception that ended a stage: with its type, without its message."""


def type_name(error: BaseException) -> str:
    """The class of an exception as `module.Class`, also where StageFailed is in its place."""
    return str(error) if isinstance(error, StageFailed) else class_name(type(error))


def is_transport_error(error: BaseException) -> bool:
    """Whether a request or its reply was lost, so that a retry may help. True for connection errors, time-outs, and
    replies with status 429 or 5xx."""
    if isinstance(error, errors.LLMTimeoutError):
        return True
    if isinstance(error, errors.LLMError):
        status = getattr(error, "status", None)
        return status is not None and (status == 429 or status >= 500)
    return any(class_name(base) in TRANSPORT_ERRORS for base in type(error).__mro__)


def categorise(error: BaseException, stage: str) -> FailureCategory:
    """The category of an exception that a stage raised."""
    if isinstance(error, errors.DomainError) and error.category is not None:
        return error.category
    unusable, late = _BY_STAGE.get(stage, (FailureCategory.LLM_ERROR, FailureCategory.LLM_ERROR))
    if isinstance(error, errors.LLMResponseParseError):
        return unusable
    if isinstance(error, errors.LLMTimeoutError):
        return late
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
