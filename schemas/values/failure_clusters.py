"""Failures of several runs that have one cause."""

from dataclasses import dataclass
from datetime import datetime

from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureCluster(PlainValue):
    """Failures of one type in one stage whose messages differ in numbers alone."""

    type: str
    """The class of the exception, as `module.Class`."""
    stage: str
    category: str
    cause: str
    """The message, with `#` for numbers and hashes. It is safe to show."""
    failures: int
    jobs: int
    failed_jobs: int
    """Jobs that ended with it and were not retried."""
    runs: tuple[str, ...]
    first_at: datetime
    last_at: datetime
    last_job: str
    """A job in which it happened last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailurePlace(PlainValue):
    """An attempt that failed so."""

    attempt_id: int
    run_id: int
    job_id: int
    stage: str
    attempt: int
    is_resolved: bool
    """A later attempt stored the stage."""
