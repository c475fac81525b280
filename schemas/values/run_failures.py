"""The failures of a run as they are stored."""

from dataclasses import dataclass
from datetime import datetime

from schemas.values.failures import StageFailure
from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedAttempt(StageFailure):
    """An attempt that ended with an error, or whose worker was lost, and its job."""

    job_id: int
    mode: str
    subject: str
    evidence_key: str | None
    """The item that the model was asked about, where that is known."""
    ended_at: datetime
    is_resolved: bool
    """A later attempt stored the stage."""
    is_final: bool
    """The job ended with it and was not retried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HallucinatedEvidence(PlainValue):
    """An extraction whose quotes were all rejected by the grounding check; the job continued without evidence."""

    job_id: int
    mode: str
    subject: str
    attempt: int
    rejected: int
    ended_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFailures(PlainValue):
    """All failures of a run, in order of time."""

    run_id: int
    submitted_at: datetime
    failed: tuple[FailedAttempt, ...]
    hallucinated: tuple[HallucinatedEvidence, ...]
