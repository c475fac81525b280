"""The limits of a run: what it may cost, and how many of its jobs may fail."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from schemas.values.base import Value

#: A percentage of failures is not looked at before so many jobs have finished, or half of a smaller run.
LEAST_FINISHED: Final = 20

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


class RunLimitState(RunLimits):
    """The limits of a run, and what counts towards them."""

    llm_calls: int = 0
    """Calls that were sent; counted if there is a limit of calls or tokens."""
    tokens: int = 0
    """Of the calls that ended."""


class FinishedJobs(Value):
    """How the jobs of a run ended since it was last resumed."""

    jobs: int
    """All of the run."""
    finished: int
    failed: int


def is_failing(max_failures: str, counts: FinishedJobs) -> bool:
    """Whether a run has reached its limit of failures.

    >>> is_failing("3", FinishedJobs(jobs=100, finished=3, failed=3))
    True
    >>> [is_failing("50%", FinishedJobs(jobs=100, finished=n, failed=n - 9)) for n in (19, 20)]
    [False, True]
    """
    number, percent = int(max_failures.rstrip("%")), max_failures.endswith("%")
    if not percent:
        return counts.failed >= number
    is_enough = counts.finished >= min(LEAST_FINISHED, max(counts.jobs // 2, 1))
    return is_enough and 100 * counts.failed >= number * counts.finished
