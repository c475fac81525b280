"""Fields of forms, and forms that create one thing however often they are sent."""

from hashlib import sha256
from typing import Annotated

from fastapi import Form
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from api.security.authentication import Principal
from schemas.errors import Refused
from schemas.values.runs import RunLimits
from store.access.idempotency import RequestKey

Typed = Annotated[str, AfterValidator(lambda text: text.replace("\r\n", "\n")), Field(repr=False)]
"""A text of several lines, with LF for the CRLF that browsers send."""


def form_key(principal: Principal, once: str, what: str, form: BaseModel) -> RequestKey:
    """The key of a form: its random value `once`, and a hash of what was filled in.

    So a form that is changed after going back, and sent again, is another request.
    """
    content_hash = sha256(f"{what} {form.model_dump_json()}".encode()).hexdigest()
    return RequestKey(principal=principal.name, key=f"{once} {content_hash}", request_hash=content_hash)


LimitField = Annotated[str, Form(max_length=40)]

_WRONG = {
    "max_failures": "Write a number of jobs from 1, or a percentage such as 10%.",
    "max_llm_calls": "Write a number of calls from 1.",
    "max_tokens": "Write a number of tokens from 1.",
}


class WrongLimit(Refused):
    """A field that is no limit."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(_WRONG[field])


def limits_of(max_failures: str, max_llm_calls: str, max_tokens: str) -> RunLimits:
    """The limits in fields; an empty one sets none. Raises WrongLimit."""
    fields = {"max_failures": max_failures, "max_llm_calls": max_llm_calls, "max_tokens": max_tokens}
    given = {name: text.strip().replace(" ", "") for name, text in fields.items() if text.strip()}
    try:
        return RunLimits.model_validate(given)
    except ValidationError as error:
        raise WrongLimit(str(error.errors(include_input=False)[0]["loc"][0])) from None
