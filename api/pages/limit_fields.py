"""The limits of a run as fields of a form."""

from typing import Annotated

from fastapi import Form
from pydantic import ValidationError

from schemas.errors import Refused
from schemas.values.run_limits import RunLimits

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
