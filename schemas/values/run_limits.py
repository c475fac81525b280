"""The limits that a run is given: what it may cost, and how many of its jobs may fail."""

from typing import Annotated

from pydantic import Field, StringConstraints

from schemas.values.base import Value

MaxFailures = Annotated[str, StringConstraints(pattern=r"^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$")]
"""A number of jobs, or a percentage of the finished ones such as `10%`."""

Amount = Annotated[int, Field(ge=1, lt=2**53)]


class RunLimits(Value):
    """The limits of a run, over all of its jobs; None sets none."""

    max_failures: MaxFailures | None = None
    """Its unfinished jobs are paused once so many have failed: a number, or a percentage of those that finished."""
    max_llm_calls: Amount | None = None
    """Calls of language models that it may pay for. A job that needs another one is paused."""
    max_tokens: Amount | None = None
    """Tokens of prompts and replies that it may use. A job that needs a call after that is paused."""

    @property
    def given(self) -> dict[str, str | int]:
        """Those that are set."""
        return self.model_dump(exclude_none=True)
