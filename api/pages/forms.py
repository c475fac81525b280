"""Routers and forms of pages: fields, and forms that create one thing however often they are sent."""

from collections.abc import AsyncIterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from starlette.datastructures import FormData

from api.security.authentication import Principal
from api.security.csrf import csrf
from schemas.errors import Refused
from schemas.settings.base import field_schemas
from schemas.statuses import JobStatus
from schemas.values.base import first_problem
from services.runs import Action
from store.access import RequestKey

Part = Annotated[int, Query(ge=1, le=1_000_000)]
"""Which page of a list is shown."""

Typed = Annotated[str, AfterValidator(lambda text: text.replace("\r\n", "\n")), Field(repr=False)]
"""A text of several lines, with LF for the CRLF that browsers send."""


async def _sent(request: Request) -> AsyncIterator[FormData]:
    async with request.form() as form:
        fields = form.multi_items()
        if any(isinstance(one, str) and "\0" in one for _, one in fields):
            raise HTTPException(422, "A field of the form holds NUL, which is no part of a text.")
        yield FormData([(name, one.replace("\r\n", "\n") if isinstance(one, str) else one) for name, one in fields])


Sent = Annotated[FormData, Depends(_sent)]
"""A form as it was filled in, with LF for the CRLF that browsers send."""


@cache
def fields_of(request: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The JSON schema of each field of a request, from which a form draws it; of one that may be null that of its value
    too."""
    found = {}
    for name, schema in field_schemas(request).items():
        values = (one for one in schema.get("anyOf", ()) if one.get("type") != "null")
        found[name] = schema | next(values, {})
    return found


def filled(request: type[BaseModel], form: FormData) -> dict[str, Any]:
    """What a form has of the fields of a request, without blanks around it; of a list its lines."""
    found: dict[str, Any] = {}
    for name, schema in fields_of(request).items():
        texts = [str(one).strip() for one in form.getlist(name)]
        if schema.get("type") == "array":
            found[name] = [line.strip() for text in texts for line in text.split("\n") if line.strip()]
        elif texts:
            # A switch that is off sends only the hidden field before it.
            is_number = schema.get("type") == "integer" and texts[-1].removeprefix("-").isdecimal()
            found[name] = int(texts[-1]) if is_number else texts[-1]
    return found


def given(request: type[BaseModel], form: FormData) -> dict[str, Any]:
    """The fields of a request that a form has and that are not empty."""
    return {name: value for name, value in filled(request, form).items() if value not in ("", [])}


def by_field(error: Exception, field: str = "form") -> dict[str, str]:
    """What is wrong with a request: at its field if the error names one, else at `field`."""
    if not isinstance(error, ValidationError):
        return {field: str(error)}
    problem = first_problem(error)
    return {problem.field or field: problem.words}


def page_router(prefix: str = "") -> APIRouter:
    """A router of pages, whose forms come with their CSRF token."""
    return APIRouter(prefix=prefix, include_in_schema=False, dependencies=[Depends(csrf)])


def form_key(principal: Principal, once: str, filled: str) -> RequestKey:
    """The key of a form: its random value `once`, and a hash of what it is for and was filled with.

    So a form that is changed after going back, and sent again, is another request.
    """
    content_hash = sha256(filled.encode()).hexdigest()
    return RequestKey(principal=principal.name, key=f"{once} {content_hash}", request_hash=content_hash)


def assigned(text: str) -> dict[str, str]:
    """Values by name, from lines of the form NAME=VALUE. Raises Refused."""
    values = {}
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (equals and name) and line.strip():
            raise Refused(f"Line {number} is not of the form NAME=VALUE.")
        if name:
            values[name] = value
    return values


#: The states of jobs that an action applies to.
_APPLIES_TO = {
    Action.RETRY: (JobStatus.FAILED, JobStatus.POISONED),
    Action.RESUME: (JobStatus.PAUSED,),
    Action.PAUSE: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED),
    Action.CANCEL: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED, JobStatus.PAUSED),
}


def possible(states: Mapping[JobStatus, int]) -> dict[Action, int]:
    """The actions that would change something, each with the number of jobs it applies to."""
    counts = {action: sum(states.get(status, 0) for status in applicable) for action, applicable in _APPLIES_TO.items()}
    return {action: count for action, count in counts.items() if count}
