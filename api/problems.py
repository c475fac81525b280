"""Errors over HTTP: problem+json (RFC 9457) with what was found and what to do, or a page with the same text.

The status of every error is set here alone. No problem repeats what a client sent, but for names that are unknown.
"""

import traceback
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from api.rendering import page
from api.security.authentication import shows_pages
from schemas import errors
from stages.failures import class_name
from store.database import UNAVAILABLE_ERRORS

log = structlog.get_logger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

#: The slugs of errors, by their status.
_SLUGS: Final = {
    400: "preset-is-default reply-unusable",
    404: "corpus-missing document-missing job-missing preset-missing query-missing result-missing run-missing "
    "step-not-ready template-missing vocabulary-missing work-missing",
    409: "document-replaced fork-refused index-mismatch no-job-in-state nothing-to-do preset-exists query-set-preset "
    "refused run-active run-name-taken stage-running step-paused step-superseded work-changed",
    422: "files-unusable idempotency-key-reused preset-value-unusable query-value-unusable "
    "run-value-unusable template-unusable works-unusable",
    500: "expansion-failed failed stage-failed step-failed",
    503: "server-unavailable",
}
STATUSES: Final = {slug: status for status, slugs in _SLUGS.items() for slug in slugs.split()}

Kind = tuple[int, str]
"""The status of a problem, and its slug: the last part of its type."""

#: A stage that failed while a request waited for it: by the stage (None for any) and the stored class of its error.
#: Other errors have the kind of their class.
STAGE_KINDS: Final[dict[tuple[str | None, str], Kind]] = {
    ("expand", class_name(errors.LLMResponseParseError)): (400, "expansion-unusable"),
    ("expand", class_name(errors.ReplyShapeError)): (400, "expansion-unusable"),
    (None, class_name(errors.NothingRelevantError)): (422, "nothing-relevant"),
    (None, class_name(errors.WorkChangedError)): (409, errors.WorkChangedError.slug),
}

UNAVAILABLE: Final = (503, "database-unavailable")
#: Of the names in a problem, and of the invalid parts in its detail.
_NAME_CHARS: Final = 80
_SHOWN_AT_MOST: Final = 5

INVALID: Final = (422, "request-invalid")

#: By the status of an HTTPException, whose phrases of Python differ between versions or say less.
_PLAIN: Final = {413: "content-too-large", 503: "too-many-streams"}


class InvalidField(BaseModel):
    """A part of a request that is invalid."""

    where: str = Field(description="Path of the value, e.g. `body.top_n` or `query.limit`")
    message: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457)."""

    type: str = Field(examples=["urn:ragq:problem:query-missing"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What was found, and what to do")
    errors: list[InvalidField] | None = None
    query_id: int | None = Field(default=None, description="The query of a stage that failed", examples=[1])
    job_id: int | None = Field(default=None, description="Its job", examples=[34])
    stage: str | None = Field(default=None, examples=["validate"])
    error_type: str | None = Field(default=None, examples=["LLMTimeoutError"])


def kind_of(error: BaseException) -> Kind | None:
    """The kind of an error; None for an unexpected one."""
    if isinstance(error, errors.StepFailedError):
        stored = (error.stage, error.error_type), (None, error.error_type)
        if found := next((STAGE_KINDS[key] for key in stored if key in STAGE_KINDS), None):
            return found
    if isinstance(error, errors.RagqError):
        return STATUSES[error.slug], error.slug
    return UNAVAILABLE if isinstance(error, UNAVAILABLE_ERRORS) else None


def respond(
    request: Request,
    kind: Kind,
    detail: str,
    *,
    invalid: list[InvalidField] | None = None,
    failure: errors.StepFailedError | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The reply for a problem: a page at the addresses of pages."""
    status, slug = kind
    problem = Problem(
        type=f"urn:ragq:problem:{slug}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=invalid,
        query_id=failure.query_id if failure else None,
        job_id=failure.job_id if failure else None,
        stage=failure.stage if failure else None,
        error_type=failure.error_type.rpartition(".")[2] if failure else None,
    )
    if shows_pages(request):
        return page(request, "problem.html.j2", status=status, headers=headers, problem=problem)
    body = problem.model_dump(mode="json", exclude_none=True)
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Register the handlers that turn every error of the application into a problem."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    known: tuple[type[BaseException], ...] = (errors.RagqError, *UNAVAILABLE_ERRORS)
    for error in known:
        assert issubclass(error, Exception)
        app.add_exception_handler(error, _known)
    app.add_exception_handler(Exception, _unexpected)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    invalid = [_invalid_field(of) for of in error.errors()]
    shown = "; ".join(f"{part.where}: {part.message}" for part in invalid[:_SHOWN_AT_MOST])
    return respond(request, INVALID, f"{shown}. `errors` lists every part that is invalid.", invalid=invalid)


def _invalid_field(found: dict[str, Any]) -> InvalidField:
    where = ".".join(map(_shown_name, found["loc"]))
    if found["type"] == "extra_forbidden":
        return InvalidField(where=where, message=f"Unknown {'parameter' if found['loc'][0] == 'query' else 'field'}")
    return InvalidField(where=where, message=found["msg"])


def _shown_name(name: str | int) -> str:
    """A name as a client sent it, cut to one short line."""
    return "".join(char if char.isprintable() else "?" for char in str(name)[:_NAME_CHARS])


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, UnicodeDecodeError):
        return respond(request, INVALID, "The body is not valid UTF-8, as JSON has to be.")
    slug = _PLAIN.get(error.status_code) or HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    headers = None if error.headers is None else dict(error.headers)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Starlette lists only those of the first route that matched.
        path = getattr(request.scope.get("route"), "path", None)
        routes = (one for one in request.app.routes if isinstance(one, Route) and one.path == path)
        headers = {"Allow": ", ".join(sorted({method for one in routes for method in one.methods or ()}))}
    return respond(request, (error.status_code, slug), str(error.detail), headers=headers)


async def _known(request: Request, error: Exception) -> Response:
    kind = kind_of(error)
    assert kind is not None
    if kind is UNAVAILABLE:
        return respond(request, kind, "The database is unavailable; try again.", headers={"Retry-After": "2"})
    if isinstance(error, errors.WorkFilesError):
        # Their names are text of the client.
        files = []
        for place, file in error.files.items():
            line = "" if file.line is None else f"Line {file.line}: "
            files.append(InvalidField(where=f"file {place + 1}", message=f"{line}{file.problem}"))
        return respond(
            request, kind, "Nothing was imported; `errors` lists the files that cannot be works.", invalid=files
        )
    return respond(request, kind, str(error), failure=error if isinstance(error, errors.StepFailedError) else None)


async def _unexpected(request: Request, error: Exception) -> Response:
    # The message may hold text of a subject.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    log.error(
        "request_failed",
        error_type=type(error).__qualname__,
        route=getattr(request.scope.get("route"), "path", None),
        place=f"{frame.filename}:{frame.lineno} {frame.name}",
    )
    return respond(request, (500, "failed"), "ragq failed to handle this request; the log of the API shows where.")
