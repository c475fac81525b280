"""Errors of attempts as they are stored and shown, and the failures of a run as `ragq failures` lists them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from schemas.suggestions import Example
from schemas.values.base import PlainValue

_Type = Annotated[str, Example("schemas.errors.LLMTimeoutError")]
_Message = Annotated[str, Example("LLM request timed out after 600s")]
_Category = Annotated[str, Example("llm_timeout")]


@dataclass(frozen=True, slots=True)
class AttemptError(PlainValue):
    """How an attempt failed."""

    type: _Type
    """The class of the exception, as `module.Class`."""
    message: _Message
    """Safe to show and to log."""
    category: _Category
    details: Annotated[dict[str, Any] | None, Example(None)] = field(repr=False)
    """What is private: the raw reply, the exception's own message, the traceback. None where it was not read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageFailure(PlainValue):
    """The error of an attempt of a stage, as it is shown."""

    stage: Annotated[str, Example("validate")]
    attempt: Annotated[int, Example(1)]
    type: _Type
    message: _Message
    category: _Category


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureContext(PlainValue):
    """The job and the attempt of a failure."""

    job: str | None
    """None for a failure without a job."""
    mode: str | None
    subject: str | None
    """The id of the subject: a participant, a query, a batch of chunks."""
    attempt: int | None
    error_type: str | None
    resolved: bool
    """A later attempt stored the stage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedFailure(PlainValue):
    """One failure of a run. The message is safe to show: no text of a subject, a prompt or a reply."""

    category: str
    severity: str
    message: str
    participant_id: int | None
    phq8_item: str | None
    stage: str | None
    """None for problems of labels, which no stage reads."""
    timestamp: datetime | None
    """None likewise."""
    context: FailureContext


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureCounts(PlainValue):
    """Counts of failures, each in descending order and then by name."""

    total_failures: int
    by_category: dict[str, int]
    by_severity: dict[str, int]
    by_stage: dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureSummary(FailureCounts):
    """All failures of a run, counted."""

    run_id: str
    start: datetime
    """When the run was submitted."""
    end: datetime | None
    """The time of the last failure; None without any."""
    unresolved: int
    by_participant: dict[str, int]
    """The ten with the most failures."""
    fatal_count: int
    error_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureList(PlainValue):
    """The failures of a run, oldest first."""

    summary: FailureSummary
    failures: tuple[ReportedFailure, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedAttempt(PlainValue):
    """An attempt that ended with an error, or whose worker was lost, and its job.

    An extraction whose quotes are all not in the transcript is one too, although its job continued without evidence.
    """

    job_id: int
    mode: str
    subject: str
    stage: str
    attempt: int
    type: str | None
    """None for evidence that is not in the transcript."""
    message: str
    category: str
    evidence_key: str | None
    """The item that the model was asked about, where that is known."""
    ended_at: datetime
    is_resolved: bool
    """A later attempt stored the stage."""
    is_final: bool
    """The job ended with it and was not retried."""


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
