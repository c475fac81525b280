"""Runs, jobs and attempts, and actions on them, as JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, SettingsByName, WithSettings, with_example
from schemas.statuses import AttemptOutcome, JobStatus, Priority
from schemas.values.failures import AttemptError, StageFailure
from schemas.values.runs import Amount, MaxFailures, RunLimitState, RunOrigin
from services.runs import Action
from store.runs.stage_vectors import StageRun
from store.runs.workers import LiveWorker

StageText = Annotated[Text, Field(pattern="^[a-z_]{1,40}$", examples=["rerank"])]


class ForkBody(WithSettings):
    """What is computed again, and with which settings."""

    model_config = with_example(stage="rerank", settings={"EMBEDDING_MIN_REFERENCE_SIMILARITY": 0.6})

    stage: StageText
    """The first stage that is computed."""
    settings: SettingsByName = Field(default={})
    """Other values of settings, and of the preset, that this stage or a later one reads."""
    always_new: bool = False
    """Store another fork even if the same one is stored."""


class RedoBody(Body):
    """What is computed again."""

    model_config = with_example(stage="rerank")

    stage: StageText
    """The first stage that is computed."""


class LeftOutJob(Reply):
    """A job that is not forked."""

    job_id: int = Field(examples=[34])
    subject: str = Field(examples=["316"])
    mode: str = Field(examples=["few_shot"])
    why: str = Field(examples=["stage 'retrieve' is not stored"])


class ForkedReply(Reply):
    """What a fork led to."""

    run_id: int = Field(examples=[13])
    parent_id: int = Field(examples=[12])
    is_new: bool
    """False when the same fork was stored before: the run is that one."""
    jobs: int = Field(examples=[41])
    resumed: int = Field(examples=[0])
    """Failed jobs of the existing fork that continue."""
    left_out: list[LeftOutJob] = Field(examples=[[]])
    """Jobs of the parent whose earlier stages are not all stored."""
    without_stage: int = Field(examples=[41])
    """Jobs of the parent in a mode without the stage."""


class RedoneReply(Reply):
    """A job that computes stages again."""

    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["rerank"])


class ChildLine(Reply):
    """A fork of a run."""

    run_id: int = Field(examples=[13])
    stage: str = Field(examples=["rerank"])
    """The first stage that it computed itself."""


class FamilyReply(Reply):
    """What a run was forked from, and its forks."""

    parent_id: int | None = Field(examples=[None])
    """Null for a run that is no fork, and when the parent is deleted."""
    stage: str | None = Field(examples=[None])
    """The first stage that it computed itself; null for a run that is no fork."""
    children: list[ChildLine] = Field(examples=[[]])


class ShareReply(Reply):
    """The place of a run among those that wait for the same workers."""

    position: int = Field(examples=[1])
    """From 1: by priority, and the oldest first."""
    runs: int = Field(examples=[2])
    """Runs that take turns."""
    share: float = Field(examples=[0.5])
    """Of the jobs that are started, from 0 to 1."""


class RunLine(Reply):
    """A run in one line."""

    id: int = Field(examples=[12])
    name: str | None = Field(examples=["baseline"])
    """What people call it; no other run has the name, compared without case."""
    note: str | None = Field(repr=False, examples=[None])
    """What people wrote about it."""
    kind: str = Field(examples=["query"])
    profile: str = Field(examples=["demo"])
    request: dict[str, Any] = Field(examples=[{"corpus": "default", "preset": "Balanced"}])
    """The parameters of the submission; never text of a subject."""
    version: str = Field(examples=["0.1.0"])
    """The version of ragq that stored it."""
    identity: str = Field(examples=["5f0c2a91"])
    """Equal submissions have the same identity."""
    settings_hash: str = Field(examples=["9b1d77e0"])
    created_at: datetime
    finished_at: datetime | None
    """When the last finished job finished."""
    jobs: int = Field(examples=[3])
    states: dict[JobStatus, int] = Field(examples=[{"succeeded": 2, "failed": 1}])
    """Jobs by state; the sum is `jobs`."""
    open_jobs: int = Field(examples=[0])
    """Jobs that are running or will run by themselves."""
    priority: Priority = Field(examples=["normal"])
    share: ShareReply | None
    """Its share of the workers while jobs of it wait to be sent; null otherwise."""


class RunsReply(Reply):
    """Runs, newest first."""

    runs: list[RunLine]
    next_before: int | None = Field(examples=[None])
    """`before` for the next page; null after the last."""


class JobLine(Reply):
    """A job with its stages."""

    job_id: int = Field(examples=[34])
    mode: str = Field(examples=["answer"])
    subject: str = Field(examples=["q1"])
    """The id of the subject of the job."""
    status: JobStatus
    note: str | None = Field(repr=False, examples=[None])
    """Why it was paused or cancelled: the operator's reason, or the limit of its run."""
    stages: list[StageRun] = Field(examples=[[{"stage": "retrieve", "status": "done", "attempts": 1, "seconds": 0.31}]])
    kept: dict[str, int] = Field(examples=[{"chunks": 9}])
    """References kept by validation: per item, or the `chunks` of a question, or the `tags` of phrases."""
    rejected: dict[str, int] = Field(examples=[{"chunks": 3}])
    """References that the validator did not accept."""
    llm_paid: int = Field(examples=[2])
    llm_reused: int = Field(examples=[0])
    seconds: float = Field(examples=[4.2])
    """Spent in the last attempt of each stage."""
    error: StageFailure | None


class ProgressReply(Reply):
    """The progress of a run."""

    stages_done: int = Field(examples=[21])
    stages: int = Field(examples=[24])
    seconds_left: float | None = Field(examples=[1.4])
    """The estimate for unfinished jobs at the pace of the last minutes; null before any stage, and when idle."""
    is_idle: bool
    """No job is running, or will run by itself."""


class RunReply(Reply):
    """A run with some of its jobs, in the order of submission."""

    run: RunLine
    progress: ProgressReply
    jobs: list[JobLine]
    limits: RunLimitState | None = Field(
        examples=[
            {"max_failures": "10%", "max_llm_calls": 500, "max_tokens": None, "llm_calls": 12, "tokens": 5400},
        ]
    )
    """Its limits and what counts towards them; null for a run without any."""
    origin: RunOrigin
    """Where it was submitted and computed: versions, commits, hardware, models and servers."""
    family: FamilyReply
    """What it was forked from, and its forks."""
    next_after: int | None = Field(examples=[None])
    """`after` for the next page; null after the last."""


class SettingReply(Reply):
    """A setting of a run."""

    value: Any = Field(examples=[0.0])
    source: str = Field(examples=["default"])
    """Where it comes from: default, profile, chosen (over REST), file (.env), environment, config, option, preset."""


class JobReply(JobLine):
    """A job by itself, as at the Location of a 202."""

    run_id: int = Field(examples=[12])
    kind: str = Field(examples=["query"])
    is_idle: bool
    """Nothing runs by itself: the job has finished, or waits for an action."""
    query_id: int | None = Field(examples=[7])
    """The question that it answers; null for jobs of other kinds."""
    parent_job_id: int | None = Field(examples=[None])
    """The job that it was forked from; null for a job of no fork, and when that one is deleted."""
    created_at: datetime
    finished_at: datetime | None


class AttemptReply(Reply):
    """One attempt of a stage."""

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
    database_s: float | None = Field(examples=[0.04])
    """Seconds of its database calls, without its claim and the statement that closed it; null if not measured."""
    inputs: dict[str, Any] | None = Field(examples=[{"expand": "5f0c2a91"}])
    """Its inputs, by ids and hashes."""
    output: dict[str, Any] | None = Field(repr=False, examples=[None])
    """Its output, which contains text; only with `outputs=true`."""
    output_hash: str | None = Field(examples=["0c94be12"])
    vectors: int = Field(examples=[5])
    """The number of stored vectors."""
    previous_hash: str | None = Field(examples=["77aa01c3"])
    hash: str | None = Field(examples=["d1e240f9"])
    """The link of the chain that `ragq audit` checks."""
    error: AttemptError | None


class CallReply(Reply):
    """A call of a language model."""

    purpose: str = Field(examples=["validate chunk 9"])
    model: str = Field(examples=["gemma3:4b"])
    is_reused: bool
    """The reply was in the ledger; the model was not called."""
    paid_by_run: int | None = Field(examples=[12])
    """The run that called the model; null if it is deleted."""
    draw: int = Field(examples=[0])
    """The draw of the run that the reply belongs to."""
    server: str = Field(examples=["http://127.0.0.1:11434"])
    """The server that replied."""
    is_rejected: bool
    """The reply could not be used, and is not reused."""
    stop_reason: str = Field(examples=["stop"])
    prompt_tokens: int | None = Field(examples=[412])
    reply_tokens: int | None = Field(examples=[18])
    seconds: float = Field(examples=[1.7])
    request: dict[str, Any] | None = Field(repr=False, examples=[None])
    """Only with `outputs=true`."""
    reply: str | None = Field(repr=False, examples=[None])
    """Only with `outputs=true`."""


class AttemptsReply(Reply):
    """Every attempt of a job, oldest first."""

    job_id: int = Field(examples=[34])
    attempts: list[AttemptReply]


class AttemptAndCallsReply(AttemptReply):
    """An attempt with the calls of language models that it made, in order."""

    job_id: int = Field(examples=[34])
    calls: list[CallReply]


class NoteBody(Body):
    """The note of an action."""

    note: Annotated[Text, StringConstraints(max_length=1000)] | None = Field(
        default=None, repr=False, examples=["the GPU is needed elsewhere"]
    )
    """The reason; shown with the jobs."""


class ResumeBody(Body):
    """The limits that replace those of the run; a field that is absent leaves its limit as it is."""

    model_config = with_example(max_llm_calls=1000)

    max_failures: MaxFailures | None = Field(default=None, examples=["10%"])
    """A number of jobs, or a percentage of the finished ones. Failures are counted anew."""
    max_llm_calls: Amount | None = Field(default=None, examples=[1000])
    """With the calls that the run has paid for."""
    max_tokens: Amount | None = Field(default=None, examples=[1_000_000])
    """With the tokens that the run has used."""


class RunPatch(Body):
    """Changes of a run. A field that is absent stays as it is; null removes the name or the note."""

    model_config = with_example(name="baseline", note="the threshold of the paper")

    name: Annotated[Text, StringConstraints(max_length=200)] | None = Field(default=None, examples=["baseline"])
    """One line of 1 to 100 characters that is no number of a run or job."""
    note: Annotated[Text, StringConstraints(max_length=4000)] | None = Field(
        default=None, repr=False, examples=["the threshold of the paper"]
    )
    """1 to 2000 characters."""
    priority: Priority = Field(default=Priority.NORMAL, strict=False, examples=["bulk"])
    """How often jobs of it that have not started have a turn where several runs wait."""


class DeletedRunReply(Reply):
    """What a deletion removed, and what it kept for others."""

    run_id: int = Field(examples=[12])
    jobs: int = Field(examples=[3])
    attempts: int = Field(examples=[24])
    questions: int = Field(examples=[3])
    answers: int = Field(examples=[4])
    calls: int = Field(examples=[17])
    """Language model calls that no other run used."""
    kept_calls: int = Field(examples=[2])
    """Calls that other runs used too."""
    kept_indexes: list[str] = Field(examples=[[]])
    """Reference indexes that the run built, which stay searchable."""


class ActionReply(Reply):
    """The result of an action."""

    action: Action
    job_ids: list[int] = Field(examples=[[34]])
    """The changed jobs."""


class WorkerReply(Reply):
    """A worker process with a heartbeat in the last ten seconds."""

    host: str = Field(examples=["node1"])
    pid: int = Field(examples=[4242])
    version: str = Field(examples=["0.1.0"])
    started_at: datetime = Field(examples=["2026-11-23T03:00:00Z"])
    stages: list[str] = Field(examples=[["embed", "rerank"]])
    """The stages that it takes."""


class WorkersReply(Reply):
    """The workers now, the oldest first."""

    workers: list[WorkerReply]

    @classmethod
    def of(cls, live: Sequence[LiveWorker]) -> "WorkersReply":
        """The reply."""
        return cls(
            workers=[
                WorkerReply(
                    host=one.host,
                    pid=one.pid,
                    version=one.version,
                    started_at=one.started_at,
                    stages=list(one.stages),
                )
                for one in live
            ]
        )


class EvaluationBody(WithSettings):
    """How the answers of a run are judged."""

    model_config = with_example(settings={"MODEL_JUDGE_MODEL": "gemma3:27b"})

    settings: SettingsByName = Field(default={})
    """Other values of settings of the judge; by default those of the run."""
    always_new: bool = False
    """Store another evaluation even if the same one is stored."""


class EvaluationSubmitted(Reply):
    """A run that evaluates answers."""

    run_id: int = Field(examples=[13])
    evaluates: int = Field(examples=[12])
    is_new: bool
    """False when the same answers were evaluated before: the run is that one."""
    jobs: int = Field(examples=[12])
    resumed: int = Field(examples=[0])
    """Failed jobs of the existing run that continue."""
    notices: list[str] = Field(examples=[[]])
