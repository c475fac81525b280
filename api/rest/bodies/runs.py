"""Runs, jobs and attempts as they go out, and what is said with a decision about them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from api.parameters import Text
from api.rest.bodies.base import Body, Reply
from schemas.statuses import AttemptOutcome, JobStatus, StageStatus
from schemas.values.failures import AttemptError, StageFailure
from services.control import Action


class RunLine(Reply):
    """A run in one line."""

    id: int = Field(examples=[12])
    kind: str = Field(examples=["query"])
    profile: str = Field(examples=["demo"])
    request: dict[str, Any] = Field(examples=[{"corpus": "default", "preset": "Default"}])
    """What was asked for; never the text of a subject."""
    version: str = Field(examples=["0.1.0"])
    """The ragq that stored it."""
    identity: str = Field(examples=["5f0c2a91"])
    """The same work has the same identity."""
    settings_hash: str = Field(examples=["9b1d77e0"])
    created_at: datetime
    finished_at: datetime | None
    """When the last job that came to rest did so."""
    jobs: int = Field(examples=[3])
    states: dict[JobStatus, int] = Field(examples=[{"succeeded": 2, "failed": 1}])
    """Jobs by state; they add up to `jobs`."""
    open_jobs: int = Field(examples=[0])
    """Jobs that go on, or will by themselves."""


class RunsReply(Reply):
    """Runs, newest first."""

    runs: list[RunLine]
    next_before: int | None = Field(examples=[None])
    """`before` for the runs that follow; null after the last."""


class StageReply(Reply):
    """One stage of a job."""

    stage: str = Field(examples=["retrieve"])
    status: StageStatus
    attempts: int = Field(examples=[1])
    seconds: float | None = Field(examples=[0.31])
    """Of the last attempt, up to now while it runs; null before the first."""


class JobLine(Reply):
    """A job with its stages."""

    job_id: int = Field(examples=[34])
    mode: str = Field(examples=["answer"])
    subject: str = Field(examples=["q1"])
    """What the job is about, as an id."""
    status: JobStatus
    note: str | None = Field(repr=False, examples=[None])
    """Why it was paused or cancelled, in the operator's words."""
    stages: list[StageReply]
    kept: dict[str, int] = Field(examples=[{"chunks": 9}])
    """References that stayed after validation: per item, or the `chunks` of a question, or the `tags` of phrases."""
    rejected: dict[str, int] = Field(examples=[{"chunks": 3}])
    """Those that the validator did not accept."""
    llm_paid: int = Field(examples=[2])
    llm_reused: int = Field(examples=[0])
    seconds: float = Field(examples=[4.2])
    """Spent in the last attempt of each stage."""
    error: StageFailure | None


class ProgressReply(Reply):
    """How far a run has come."""

    stages_done: int = Field(examples=[21])
    stages: int = Field(examples=[24])
    seconds_left: float | None = Field(examples=[1.4])
    """What the open jobs still need at the pace of the last minutes; null before any stage, and at rest."""
    is_idle: bool
    """Nothing goes on, or will by itself."""


class RunReply(Reply):
    """A run with some of its jobs, in the order of submission."""

    run: RunLine
    progress: ProgressReply
    jobs: list[JobLine]
    next_after: int | None = Field(examples=[None])
    """`after` for the jobs that follow; null after the last."""


class SettingReply(Reply):
    """A setting of a run."""

    value: Any = Field(examples=[0.0])
    source: str = Field(examples=["default"])
    """Where the value came from: a default, the profile, a file, the environment, an option, a preset."""


class JobReply(JobLine):
    """A job by itself: what the Location of a 202 leads to."""

    run_id: int = Field(examples=[12])
    kind: str = Field(examples=["query"])
    is_idle: bool
    """Nothing goes on by itself: it succeeded, or somebody has to decide."""
    query_id: int | None = Field(examples=[7])
    """The question that it answers; null for jobs of other kinds."""
    created_at: datetime
    finished_at: datetime | None


class AttemptReply(Reply):
    """One try of one stage."""

    stage: str = Field(examples=["embed"])
    number: int = Field(examples=[1])
    outcome: AttemptOutcome
    worker_id: str = Field(examples=["model@host:4711"])
    """`manual` for an output that a person gave."""
    host: str | None = Field(examples=["host"])
    pid: int | None = Field(examples=[4711])
    started_at: datetime
    ended_at: datetime | None
    seconds: float = Field(examples=[0.31])
    """Up to now while it runs."""
    inputs: dict[str, Any] | None = Field(examples=[{"expand": "5f0c2a91"}])
    """What it read, by ids and hashes."""
    output: dict[str, Any] | None = Field(repr=False, examples=[None])
    """What it stored. With `outputs=true` alone: it holds text."""
    output_hash: str | None = Field(examples=["0c94be12"])
    vectors: int = Field(examples=[5])
    """How many vectors it stored."""
    previous_hash: str | None = Field(examples=["77aa01c3"])
    hash: str | None = Field(examples=["d1e240f9"])
    """The link of the chain that `ragq audit` checks."""
    error: AttemptError | None


class CallReply(Reply):
    """A call of a language model."""

    purpose: str = Field(examples=["validate chunk 9"])
    model: str = Field(examples=["gemma3:4b"])
    is_reused: bool
    """The answer was there already: nothing was paid."""
    is_rejected: bool
    """The reply could not be used, and is not given out again."""
    stop_reason: str = Field(examples=["stop"])
    prompt_tokens: int | None = Field(examples=[412])
    reply_tokens: int | None = Field(examples=[18])
    seconds: float = Field(examples=[1.7])
    request: dict[str, Any] | None = Field(repr=False, examples=[None])
    """With `outputs=true` alone."""
    reply: str | None = Field(repr=False, examples=[None])
    """With `outputs=true` alone."""


class AttemptsReply(Reply):
    """Every attempt of a job, oldest first."""

    job_id: int = Field(examples=[34])
    attempts: list[AttemptReply]


class AttemptAndCallsReply(AttemptReply):
    """An attempt with the calls of language models that it made, in order."""

    job_id: int = Field(examples=[34])
    calls: list[CallReply]


class NoteBody(Body):
    """What is said with a decision."""

    note: Annotated[Text, StringConstraints(max_length=1000)] | None = Field(
        default=None, repr=False, examples=["the GPU is needed elsewhere"]
    )
    """Why, in your words; shown with the jobs."""


class DecisionReply(Reply):
    """What a decision led to."""

    action: Action
    job_ids: list[int] = Field(examples=[[34]])
    """The jobs that it changed."""
    is_sent: bool
    """The workers were told; otherwise the broker is away, and the jobs start by themselves when it is back."""
