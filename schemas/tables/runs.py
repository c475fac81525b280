"""Runs, their jobs and stages, the calls of language models, and who works on them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint, func, text
from sqlmodel import Field

from schemas.statuses import Priority
from schemas.tables import columns

_OPEN = "status IN ('waiting', 'running', 'interrupted')"


class RunTable(columns.Row, table=True):
    """One submission: a kind, its inputs, and every setting as it was at that moment."""

    __table_args__ = (
        Index("ux_run_name", func.lower(text("name")), unique=True),
        Index("ix_run_fork", text("(request #>> '{fork,run}')")),
        Index("ix_run_after_id", "after_id", postgresql_where=text("after_id IS NOT NULL")),
        Index(
            "ix_run_partial", "id", postgresql_where=text("kind = 'index' AND (request ->> 'allow_partial')::boolean")
        ),
    )

    id: int = columns.serial()
    name: str | None = columns.text()
    note: str | None = columns.text()
    kind: str
    identity: str = Field(index=True)
    """SHA-256 over kind, settings and inputs: the same submission has the same identity."""
    profile: str
    settings: dict[str, Any] = columns.json()
    """Every effective value and where it came from."""
    settings_hash: str
    request: dict[str, Any] = columns.json()
    """What was asked for: split, modes, limit. Never text of a subject."""
    version: str
    environment_id: int | None = columns.reference("environment.id", deleted=None)
    priority: str = columns.text(Priority.NORMAL)
    after_id: int | None = columns.long()
    """The run that it waits for, with paused jobs, and which may be deleted meanwhile."""
    batch_hours: float | None
    """How long a batch of its calls may take, which are sent singly then; null where none is sent as a batch."""
    emptied_at: datetime | None = columns.time()
    """When all but its results was purged."""
    created_at: datetime = columns.now()


class RunModelTable(columns.Row, table=True):
    """A language model of a run as it was first found: no stage of the run uses another one under its name."""

    run_id: int = columns.reference("run.id", primary_key=True)
    model: str = columns.text(primary_key=True)
    """The name that the server is asked for."""
    identity: dict[str, Any] = columns.json()
    is_from_submission: bool


class JobTable(columns.Row, table=True):
    """One subject of a run, and its state in the stages of its kind."""

    __table_args__ = (
        UniqueConstraint("run_id", "ordinal"),
        Index("ix_job_run_id_status_ordinal", "run_id", "status", "ordinal", postgresql_include=["finished_at"]),
        Index("ix_job_backlog", "run_id", "is_awaited", "id", postgresql_where=text(f"{_OPEN} AND sent_at IS NULL")),
        Index(
            "ix_job_evaluated", text("((inputs ->> 'result_id')::bigint)"), postgresql_where=text("kind = 'evaluation'")
        ),
        Index("ix_job_original", text("(inputs ->> 'original')"), postgresql_where=text("kind = 'work'")),
        Index("ix_job_parent_id", "parent_id", postgresql_where=text("parent_id IS NOT NULL")),
        Index("ix_job_sent", "sent_at", postgresql_where=text(f"{_OPEN} AND sent_at IS NOT NULL")),
    )

    id: int = columns.serial()
    run_id: int = columns.reference("run.id")
    ordinal: int
    kind: str
    mode: str
    subject: str
    """What the job is about, as an id: a participant's number."""
    inputs: dict[str, Any] = columns.json()
    """What the stages start from: ids and hashes, and text that came with the submission (given evidence)."""
    status: str
    created_at: datetime = columns.now()
    finished_at: datetime | None = columns.time()
    """When it finished: succeeded, failed, poisoned or cancelled."""
    note: str | None = columns.text()
    """Why it was paused or cancelled, in the operator's words."""
    sent_at: datetime | None = columns.time()
    """When its messages were sent, or a time ahead until which it waits. An open job without it is to be sent: triggers
    empty it whenever a job is made to wait."""
    is_awaited: bool = columns.flag()
    """Somebody asked for a step of it and waits: it is interactive, whatever the priority of its run."""
    parent_id: int | None = columns.reference("job.id", deleted="SET NULL")
    """Of a fork, the job of the same subject and mode whose first outputs it copied; null once that job is deleted."""


class StageRunTable(columns.Row, table=True):
    """The state of one stage of one job. A row that is `ready` is a message that is due: this table is the outbox."""

    __table_args__ = (
        Index("ix_stage_run_due", "enq_at", postgresql_where=text("status = 'ready'")),
        Index("ix_stage_run_leased", "lease_until", postgresql_where=text("status = 'running'")),
    )

    job_id: int = columns.reference("job.id", primary_key=True)
    stage: str = columns.text(primary_key=True)
    position: int
    """Place in the chain, from 0."""
    status: str
    fence: int
    """Rises with every claim; a commit that carries an older one changes nothing."""
    claim_token: int | None = columns.long()
    """Random, of the last claim: a commit that carries another one changes nothing."""
    attempts: int
    """How often it was claimed."""
    interruptions: int
    """Expired leases since the last success or retry."""
    retries: int
    """Automatic retries of transport errors since the last success or retry."""
    worker_id: str | None
    lease_until: datetime | None = columns.time()
    enq_at: datetime | None = columns.time()
    """When its message was last sent; empty when it has to be sent."""
    enq_n: int
    """How often the reaper sent it again; the back-off doubles with each."""
    queue: str | None
    """Where its message waits, if that is not the queue of its name."""
    not_before: datetime | None = columns.time()
    """An automatic retry waits until then."""
    started_at: datetime | None = columns.time()
    finished_at: datetime | None = columns.time()


class StageAttemptTable(columns.Row, table=True):
    """One try of one stage. Rows are added and closed once; a closed row carries the hash of the one before it."""

    __table_args__ = (UniqueConstraint("job_id", "stage", "number"), Index("ix_stage_attempt_job_id", "job_id", "id"))

    id: int = columns.serial()
    job_id: int = columns.reference("job.id")
    stage: str
    number: int
    fence: int
    worker_id: str
    started_at: datetime | None = columns.time()
    ended_at: datetime | None = columns.time()
    outcome: str
    inputs: dict[str, Any] | None = columns.json()
    """What it read, by name: hashes and ids."""
    output: dict[str, Any] | None = columns.json()
    output_hash: str | None
    """SHA-256 over the output and its vectors."""
    previous_hash: str | None
    hash: str | None
    error_type: str | None
    error_message: str | None = columns.text()
    error_category: str | None
    error_details: dict[str, Any] | None = columns.json()
    """What must not be logged: the raw reply, the exception's own words, the traceback."""


class StageVectorTable(columns.Row, table=True):
    """A vector that an attempt stored, by its position in the output's own order."""

    __table_args__ = (Index("ix_stage_vector_text_key", "text_key", postgresql_where=text("text_key IS NOT NULL")),)

    attempt_id: int = columns.reference("stage_attempt.id", primary_key=True)
    ordinal: int = columns.long(primary_key=True)
    vector: Any = columns.vector()
    text_key: bytes | None
    """A hash over the text, the model and its settings, by which an equal text finds it; None where none may."""
    is_cut: bool | None
    """Whether the model read only a part of the text."""


class LLMCallTable(columns.Row, table=True):
    """One answered call. A later call with the same key finds it and pays nothing."""

    __table_args__ = (
        Index("ux_llm_call_key", "key", unique=True, postgresql_where=text("rejected_at IS NULL")),
        Index("ix_llm_call_key", "key"),
    )

    id: int = columns.serial()
    key: str
    """SHA-256 over everything that can change the answer; `store.runs.ledger` lists it."""
    model: str
    digest: str
    request: dict[str, Any] = columns.json()
    reply: str = columns.text()
    stop_reason: str
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: float
    tokens: dict[str, Any] | None = columns.json()
    """The token signals of the reply; null where none were asked for, or the server gave none."""
    served_by: dict[str, Any] = columns.json()
    created_at: datetime = columns.now()
    is_batched: bool = columns.flag()
    """A batch brought the answer, at the price of one."""
    is_fresh: bool = columns.flag()
    """A batch brought the answer and no stage has used it: the first one has paid for it."""
    rejected_at: datetime | None = columns.time()
    """When a stage could not use the reply; a rejected reply is kept and never given out again."""


class LLMCallUseTable(columns.Row, table=True):
    """A call as one attempt of a stage made it, in order."""

    __table_args__ = (Index("ix_llm_call_use_call_id", "call_id"),)

    attempt_id: int = columns.reference("stage_attempt.id", primary_key=True)
    ordinal: int = Field(primary_key=True)
    call_id: int = columns.reference("llm_call.id", deleted=None)
    purpose: str
    is_reused: bool
    """The answer was there already: nothing was paid."""


class LLMWaitTable(columns.Row, table=True):
    """A stage that was given back, mostly because its server takes no call now."""

    __table_args__ = (Index("ix_llm_wait_server", "server", "reason", "since"), {"prefixes": ["UNLOGGED"]})

    job_id: int = columns.reference("job.id", primary_key=True)
    stage: str = columns.text(primary_key=True)
    server: str = columns.text()
    reason: str = columns.text()
    since: datetime = columns.time()
    """When it first had to wait: who waits for longest is first."""
    until: datetime = columns.time()
    """Its `not_before` then; the row says nothing once the stage has another."""
    refusals: int
    """How often the server refused its call."""


class RunLimitTable(columns.Row, table=True):
    """The limits that a run was submitted or resumed with; a run without any has no row."""

    run_id: int = columns.reference("run.id", primary_key=True)
    max_failures: str | None = columns.text()
    max_llm_calls: int | None = columns.long()
    max_tokens: int | None = columns.long()
    llm_calls: int = columns.long("0")
    """Calls that were sent; one that a server refused does not count."""
    tokens: int = columns.long("0")
    """Of prompts and replies of the calls that ended."""


class RunNotificationTable(columns.Row, table=True):
    """Who is told when a run has finished or is paused, and the message of the last time."""

    run_id: int = columns.reference("run.id", primary_key=True)
    url: str = columns.text()
    is_armed: bool
    """A message becomes due when the run has nothing left to do."""
    message_id: str | None = columns.text()
    message: dict[str, Any] | None = columns.json()
    attempts: int = columns.long("0")
    due_at: datetime | None = columns.time()
    """When it is sent next, or again if whoever claimed it died."""
    sent_at: datetime | None = columns.time()
    error: str | None = columns.text()


class EnvironmentTable(columns.Row, table=True):
    """A distinct environment: versions, commit and hardware, without names of hosts, users or folders."""

    id: int = columns.serial()
    hash: str = Field(unique=True)
    content: dict[str, Any] = columns.json()


class WorkerTable(columns.Row, table=True):
    """One worker process, from its first heartbeat on."""

    id: str = columns.text(primary_key=True)
    host: str
    pid: int
    stages: list[str] = columns.array()
    version: str
    environment_id: int = columns.reference("environment.id", deleted=None)
    started_at: datetime = columns.now()
    seen_at: datetime = columns.now()
    servers: dict[str, Any] = columns.json()
    """The servers of models that it asks, by the setting that names each, without secrets."""
    concurrency: int
    """How many stages it runs at a time; 0 for a process that another one counts."""
    broker: str = columns.text()
    """The broker that it takes messages from, without credentials."""


class LLMBatchTable(columns.Row, table=True):
    """A batch: many calls to one model of one server."""

    __table_args__ = (Index("ix_llm_batch_due", "due_at"),)

    id: int = columns.serial()
    name: str = columns.text()
    """By which the provider knows it: a batch that was sent just before its sender died is found, not repeated."""
    server: str = columns.text()
    model: str = columns.text()
    hours: float
    calls: int
    provider_id: str | None = columns.text()
    """Null until it is sent."""
    note: str | None = columns.text()
    """Why the provider was not reached."""
    created_at: datetime = columns.now()
    sent_at: datetime | None = columns.time()
    ended_at: datetime | None = columns.time()
    due_at: datetime | None = columns.time()
    """When it is looked at next; later while somebody does. Null once it has ended."""


class LLMBatchCallTable(columns.Row, table=True):
    """A call that waits for its answer. It is deleted when the answer is in the ledger."""

    __table_args__ = (Index("ix_llm_batch_call_batch_id", "batch_id"),)

    key: str = columns.text(primary_key=True)
    """As in the ledger."""
    batch_id: int | None = columns.reference("llm_batch.id")
    """Null until it is part of a batch."""
    server: str = columns.text()
    model: str = columns.text()
    hours: float
    call: dict[str, Any] = columns.json()
    served_by: dict[str, Any] = columns.json()
    created_at: datetime = columns.now()
    is_single: bool
    """The batch had no answer: whoever needs it sends the call by itself."""
    error: str | None = columns.text()
    """Why its batch was refused: whoever needs the call fails."""


class LLMBatchStageTable(columns.Row, table=True):
    """A stage that waits for the answer to a call."""

    __table_args__ = (Index("ix_llm_batch_stage_job_id", "job_id"),)

    key: str = columns.text(primary_key=True)
    job_id: int = columns.reference("job.id", primary_key=True)
    stage: str = columns.text(primary_key=True)
