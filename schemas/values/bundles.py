"""The rows of a bundle, a table each, and which columns hold text: the one place that declares it.

`Content.TEXT` is left out of a bundle without text. Of a `Content.DOCUMENT`, a JSON value, every string is left out
that `stages/bundles/withheld.py` does not list. All other columns are numbers, times, names and hashes.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from schemas.statuses import AttemptOutcome, JobStatus, StageStatus
from schemas.values.base import Value

FORMAT = "ragq-bundle-1"


class Content(StrEnum):
    """What of a column is text."""

    TEXT = "text"
    DOCUMENT = "document"


Words = Annotated[str | None, Content.TEXT]
Document = Annotated[Any, Content.DOCUMENT]
Id = Annotated[int, Field(ge=0, lt=2**62)]
Number = Annotated[int, Field(ge=0, lt=2**31)]
Name = Annotated[str, Field(max_length=1000)]


class JobRow(Value):
    """A job."""

    id: Id
    ordinal: Number
    kind: Name
    mode: Name
    subject: Name
    inputs: Document = Field(repr=False)
    status: JobStatus
    created_at: datetime
    finished_at: datetime | None
    note: Words = Field(repr=False)


class StageRow(Value):
    """The state of a stage of a job."""

    job_id: Id
    stage: Name
    position: Number
    status: StageStatus
    fence: Number
    attempts: Number
    interruptions: Number
    retries: Number
    started_at: datetime | None
    finished_at: datetime | None


class AttemptRow(Value):
    """An attempt of a stage, in the order in which they were added."""

    id: Id
    job_id: Id
    stage: Name
    number: Number
    fence: Number
    started_at: datetime
    ended_at: datetime | None
    outcome: AttemptOutcome
    inputs: Document = Field(repr=False)
    output: Document = Field(repr=False)
    output_hash: Name | None
    previous_hash: Name | None
    hash: Name | None
    error_type: Name | None
    error_message: Annotated[str, Field(max_length=100_000)] | None
    """Safe to show and to log, as it is stored."""
    error_category: Name | None
    error_details: Annotated[Any, Content.TEXT] = Field(repr=False)


class VectorRow(Value):
    """A vector of an attempt: computed from text, and withheld with it."""

    attempt_id: Id
    ordinal: Id
    vector: Annotated[Any, Content.TEXT] = Field(repr=False)
    """Little-endian float32, as base64."""


class CallRow(Value):
    """A call of a language model in the ledger."""

    id: Id
    key: Name
    model: Name
    digest: Name
    request: Document = Field(repr=False)
    reply: Words = Field(repr=False)
    stop_reason: Name
    prompt_tokens: Number | None
    reply_tokens: Number | None
    seconds: float
    tokens: Document = Field(repr=False)
    served_by: Any
    created_at: datetime
    rejected_at: datetime | None


class CallUseRow(Value):
    """A call as an attempt made it."""

    attempt_id: Id
    ordinal: Number
    call_id: Id
    purpose: Name
    is_reused: bool


class QuestionRow(Value):
    """The question of a job, and the relevance of documents to it."""

    job_id: Id
    external_id: Name | None
    corpus: Name
    original_query: Words = Field(repr=False)
    judgements: dict[str, int]


class RunPart(Value):
    """The run itself."""

    id: Id
    name: Name | None
    note: Words = Field(repr=False)
    kind: Name
    identity: Name
    profile: Name
    settings: dict[str, dict[str, Any]]
    settings_hash: Name
    request: dict[str, Any]
    version: Name
    created_at: datetime


TABLES: dict[str, type[Value]] = {
    "jobs": JobRow,
    "stages": StageRow,
    "attempts": AttemptRow,
    "vectors": VectorRow,
    "calls": CallRow,
    "call_uses": CallUseRow,
    "questions": QuestionRow,
}
"""The tables of a bundle by name."""


def columns_with(content: Content, row: type[Value]) -> frozenset[str]:
    """The columns of a table with such a content."""
    return frozenset(name for name, field in row.model_fields.items() if content in field.metadata)
