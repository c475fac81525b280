"""The limits of a run beside what counts towards them."""

from dataclasses import dataclass
from typing import Final

from schemas.values.plain import PlainValue

#: A percentage of failures is not looked at before so many jobs have finished, or half of a smaller run.
LEAST_FINISHED: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimitState(PlainValue):
    """The limits of a run, None where there is none, and what counts towards them."""

    max_failures: str | None = None
    max_llm_calls: int | None = None
    max_tokens: int | None = None
    llm_calls: int = 0
    """Calls that were sent; counted if there is a limit of calls or tokens."""
    tokens: int = 0
    """Of the calls that ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedJobs(PlainValue):
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
