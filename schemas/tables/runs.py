"""Runs and their jobs."""

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlmodel import Field, SQLModel

from schemas.statuses import JobStatus, Priority
from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column, time_column

_OPEN = "status IN ('waiting', 'running', 'interrupted')"


class RunTable(SQLModel, table=True):
    """One submission: a kind, its inputs, and every setting as it was at that moment."""

    __tablename__ = "run"
    __table_args__ = (
        Index("ux_run_name", func.lower(text("name")), unique=True),
        Index(
            "ix_run_partial", "id", postgresql_where=text("kind = 'index' AND (request ->> 'allow_partial')::boolean")
        ),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    name: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """What people call it; two runs never have the same name, compared without case."""
    note: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """What people wrote about it."""
    kind: str
    identity: str = Field(index=True)
    """SHA-256 over kind, settings and inputs: the same submission has the same identity."""
    profile: str
    settings: dict[str, Any] = Field(sa_column=json_column())
    """Every effective value and where it came from."""
    settings_hash: str
    request: dict[str, Any] = Field(sa_column=json_column())
    """What was asked for: split, modes, limit. Never text of a subject."""
    version: str
    """The ragq that stored it."""
    environment_id: int | None = Field(
        default=None, sa_column=reference_column("environment.id", cascade=False, nullable=True)
    )
    """Where it was submitted."""
    priority: str = Field(
        default=Priority.NORMAL, sa_column=Column(Text, nullable=False, server_default=text("'normal'"))
    )
    emptied_at: datetime | None = Field(default=None, sa_column=time_column())
    """When all but its results was purged."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class RunModelTable(SQLModel, table=True):
    """A language model of a run as it was first found: no stage of the run uses another one under its name."""

    __tablename__ = "run_model"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    model: str = Field(sa_column=Column(Text, primary_key=True))
    """The name that the server is asked for."""
    identity: dict[str, Any] = Field(sa_column=json_column())
    """Server, digest or entry in the server's list."""
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""
    asked_at: datetime | None = Field(default=None, sa_column=now_column())


class JobTable(SQLModel, table=True):
    """One subject of a run, and its state in the stages of its kind."""

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("run_id", "ordinal"),
        Index("ix_job_run_id_status_ordinal", "run_id", "status", "ordinal", postgresql_include=["finished_at"]),
        Index("ix_job_backlog", "run_id", "is_awaited", "id", postgresql_where=text(f"{_OPEN} AND sent_at IS NULL")),
        Index(
            "ix_job_evaluated", text("((inputs ->> 'result_id')::bigint)"), postgresql_where=text("kind = 'evaluation'")
        ),
        Index("ix_job_original", text("(inputs ->> 'original')"), postgresql_where=text("kind = 'work'")),
        Index("ix_job_sent", "sent_at", postgresql_where=text(f"{_OPEN} AND sent_at IS NOT NULL")),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    run_id: int = Field(sa_column=reference_column("run.id"))
    ordinal: int
    kind: str
    mode: str
    subject: str
    """What the job is about, as an id: a participant's number."""
    inputs: dict[str, Any] = Field(sa_column=json_column())
    """What the stages start from: ids and hashes, and text that came with the submission (given evidence)."""
    status: str = JobStatus.WAITING
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    finished_at: datetime | None = Field(default=None, sa_column=time_column())
    """When it finished: succeeded, failed, poisoned or cancelled."""
    note: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """Why it was paused or cancelled, in the operator's words."""
    sent_at: datetime | None = Field(default=None, sa_column=time_column())
    """When its messages were sent, or a time ahead until which it waits. An open job without it is to be sent: triggers
    empty it whenever a job is made to wait."""
    is_awaited: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=text("false")))
    """Somebody asked for a step of it and waits: it is interactive, whatever the priority of its run."""


class StageRunTable(SQLModel, table=True):
    """The state of one stage of one job. A row that is `ready` is a message that is due: this table is the outbox."""

    __tablename__ = "stage_run"
    __table_args__ = (
        Index("ix_stage_run_due", "enq_at", postgresql_where=text("status = 'ready'")),
        Index("ix_stage_run_leased", "lease_until", postgresql_where=text("status = 'running'")),
    )

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    stage: str = Field(sa_column=Column(Text, primary_key=True))
    position: int
    """Place in the chain, from 0."""
    status: str
    fence: int = 0
    """Rises with every claim; a commit that carries an older one changes nothing."""
    claim_token: int | None = Field(default=None, sa_column=Column(BigInteger))
    """Random, of the last claim: a commit that carries another one changes nothing."""
    attempts: int = 0
    """How often it was claimed."""
    interruptions: int = 0
    """Expired leases since the last success or retry."""
    retries: int = 0
    """Automatic retries of transport errors since the last success or retry."""
    worker_id: str | None = None
    lease_until: datetime | None = Field(default=None, sa_column=time_column())
    enq_at: datetime | None = Field(default=None, sa_column=time_column())
    """When its message was last sent; empty when it has to be sent."""
    enq_n: int = 0
    """How often the reaper sent it again; the back-off doubles with each."""
    queue: str | None = None
    """Where its message waits, if that is not the queue of its name."""
    not_before: datetime | None = Field(default=None, sa_column=time_column())
    """An automatic retry waits until then."""
    started_at: datetime | None = Field(default=None, sa_column=time_column())
    finished_at: datetime | None = Field(default=None, sa_column=time_column())


class StageAttemptTable(SQLModel, table=True):
    """One try of one stage. Rows are added and closed once; a closed row carries the hash of the one before it."""

    __tablename__ = "stage_attempt"
    __table_args__ = (UniqueConstraint("job_id", "stage", "number"), Index("ix_stage_attempt_job_id", "job_id", "id"))

    id: int | None = Field(default=None, sa_column=id_column())
    job_id: int = Field(sa_column=reference_column("job.id"))
    stage: str
    number: int
    fence: int
    worker_id: str
    started_at: datetime | None = Field(default=None, sa_column=time_column())
    ended_at: datetime | None = Field(default=None, sa_column=time_column())
    outcome: str
    inputs: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What it read, by name: hashes and ids."""
    output: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    output_hash: str | None = None
    """SHA-256 over the output and its vectors."""
    previous_hash: str | None = None
    hash: str | None = None
    error_type: str | None = None
    """The exception's class, `module.Class`."""
    error_message: str | None = Field(default=None, sa_column=text_column(nullable=True))
    error_category: str | None = None
    error_details: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What must not be logged: the raw reply, the exception's own words, the traceback."""
    database_s: float | None = None
    """Seconds of its database calls, without its claim and the statement that closes it: its own time cannot be in it.
    Nor are the pieces of an answer, which are stored while the model writes. Empty for those that no worker closed
    itself."""


class StageVectorTable(SQLModel, table=True):
    """A vector that an attempt stored, by its position in the output's own order."""

    __tablename__ = "stage_vector"
    __table_args__ = (Index("ix_stage_vector_text_key", "text_key", postgresql_where=text("text_key IS NOT NULL")),)

    attempt_id: int = Field(sa_column=reference_column("stage_attempt.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(BigInteger, primary_key=True))
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))
    text_key: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    """A hash over the text, the model and its settings, by which an equal text finds it; None where none may."""
    is_cut: bool | None = Field(default=None, sa_column=Column(Boolean, nullable=True))
    """Whether the model read only a part of the text."""


class LLMCallTable(SQLModel, table=True):
    """One answered call. A later call with the same key finds it and pays nothing."""

    __tablename__ = "llm_call"
    __table_args__ = (
        Index("ux_llm_call_key", "key", unique=True, postgresql_where=text("rejected_at IS NULL")),
        Index("ix_llm_call_key", "key"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    key: str
    """SHA-256 over everything that can change the answer; `store.runs.ledger` lists it."""
    model: str
    digest: str
    request: dict[str, Any] = Field(sa_column=json_column())
    reply: str = Field(sa_column=text_column())
    stop_reason: str
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float
    tokens: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """The token signals of the reply; null where none were asked for, or the server gave none."""
    served_by: dict[str, Any] = Field(sa_column=json_column())
    """The identity of the model: server, digest or entry in the server's list."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    is_batched: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=text("false")))
    """A batch brought the answer, at the price of one."""
    is_fresh: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=text("false")))
    """A batch brought the answer and no stage has used it: the first one has paid for it."""
    rejected_at: datetime | None = Field(default=None, sa_column=time_column())
    """When a stage could not use the reply; a rejected reply is kept and never given out again."""


class LLMCallUseTable(SQLModel, table=True):
    """A call as one attempt of a stage made it, in order."""

    __tablename__ = "llm_call_use"
    __table_args__ = (Index("ix_llm_call_use_call_id", "call_id"),)

    attempt_id: int = Field(sa_column=reference_column("stage_attempt.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True))
    call_id: int = Field(sa_column=reference_column("llm_call.id", cascade=False))
    purpose: str
    is_reused: bool
    """The answer was there already: nothing was paid."""


class LLMWaitTable(SQLModel, table=True):
    """A stage that was given back, mostly because its server takes no call now."""

    __tablename__ = "llm_wait"
    __table_args__ = (Index("ix_llm_wait_server", "server", "reason", "since"), {"prefixes": ["UNLOGGED"]})

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    stage: str = Field(sa_column=Column(Text, primary_key=True))
    server: str = Field(sa_column=text_column())
    reason: str = Field(sa_column=text_column())
    since: datetime = Field(sa_column=time_column(nullable=False))
    """When it first had to wait: who waits for longest is first."""
    until: datetime = Field(sa_column=time_column(nullable=False))
    """Its `not_before` then; the row says nothing once the stage has another."""
    refusals: int
    """How often the server refused its call."""


def _count() -> Column[int]:
    return Column(BigInteger, nullable=False, server_default=text("0"))


class RunLimitTable(SQLModel, table=True):
    """The limits that a run was submitted or resumed with; a run without any has no row."""

    __tablename__ = "run_limit"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    max_failures: str | None = Field(default=None, sa_column=text_column(nullable=True))
    """A number of jobs, or a percentage such as `10%`."""
    max_llm_calls: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    max_tokens: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    llm_calls: int = Field(default=0, sa_column=_count())
    """Calls that were sent; one that a server refused does not count."""
    tokens: int = Field(default=0, sa_column=_count())
    """Of prompts and replies of the calls that ended."""
    failed_before: int = Field(default=0, sa_column=_count())
    """Jobs that had failed when the run was last resumed: they stop it no more."""
    finished_before: int = Field(default=0, sa_column=_count())


def _parent_column(target: str) -> Column[int | None]:
    return Column(BigInteger, ForeignKey(target, ondelete="SET NULL"), nullable=True, index=True)


class RunForkTable(SQLModel, table=True):
    """A run that was forked from another one."""

    __tablename__ = "run_fork"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    parent_id: int | None = Field(default=None, sa_column=_parent_column("run.id"))
    """Null once that run is deleted."""
    stage: str = Field(sa_column=text_column())
    """The first stage that the fork computes itself."""


class RunWaitTable(SQLModel, table=True):
    """A run whose jobs are paused until another run has succeeded."""

    __tablename__ = "run_wait"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    after_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    """The run that it waits for, which may be deleted meanwhile."""


class RunNotificationTable(SQLModel, table=True):
    """Who is told when a run has finished or is paused, and the message of the last time."""

    __tablename__ = "run_notification"

    run_id: int = Field(sa_column=reference_column("run.id", primary_key=True))
    url: str = Field(sa_column=text_column())
    is_armed: bool = Field(sa_column=Column(Boolean, nullable=False))
    """A message becomes due when the run has nothing left to do."""
    message_id: str | None = Field(default=None, sa_column=text_column(nullable=True))
    message: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    attempts: int = Field(default=0, sa_column=_count())
    """How often the message was sent."""
    due_at: datetime | None = Field(default=None, sa_column=time_column())
    """When it is sent next, or again if whoever claimed it died."""
    sent_at: datetime | None = Field(default=None, sa_column=time_column())
    """When it was accepted."""
    error: str | None = Field(default=None, sa_column=text_column(nullable=True))


class JobForkTable(SQLModel, table=True):
    """A job of a fork, and the job of the same subject and mode whose first outputs it copied."""

    __tablename__ = "job_fork"

    job_id: int = Field(sa_column=reference_column("job.id", primary_key=True))
    parent_id: int | None = Field(default=None, sa_column=_parent_column("job.id"))
    """Null once that job is deleted."""


class EnvironmentTable(SQLModel, table=True):
    """A distinct environment: versions, commit and hardware, without names of hosts, users or folders."""

    __tablename__ = "environment"

    id: int | None = Field(default=None, sa_column=id_column())
    hash: str = Field(unique=True)
    """SHA-256 over the content."""
    content: dict[str, Any] = Field(sa_column=json_column())


class WorkerTable(SQLModel, table=True):
    """One worker process, from its first heartbeat on."""

    __tablename__ = "worker"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    host: str
    pid: int
    stages: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    version: str
    environment_id: int = Field(sa_column=reference_column("environment.id", cascade=False))
    """Where it runs."""
    started_at: datetime | None = Field(default=None, sa_column=now_column())
    seen_at: datetime | None = Field(default=None, sa_column=now_column())
    servers: dict[str, Any] = Field(sa_column=json_column())
    """The servers of models that it asks, by the setting that names each, without secrets."""
    concurrency: int
    """How many stages it runs at a time; 0 for a process that another one counts."""
    broker: str = Field(sa_column=text_column())
    """The broker that it takes messages from, without credentials."""
