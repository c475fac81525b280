"""Runs: their names and limits, what they are made with, their failures, and what reports read of them."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, Field, StringConstraints

from schemas.statuses import JobStatus
from schemas.values.base import MAX_ID, Request, Value
from schemas.values.chat import ModelIdentity
from schemas.values.costs import StageCalls, StageWork
from schemas.values.participants import AssessmentMode, RankedReferences, TranscriptVariant, ValidatedReferences
from schemas.values.scoring import Draw, ParticipantScores

LONGEST_NAME: Final = 100

_RUN: Final = re.compile(r"r?([1-9][0-9]{0,17})", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[rj]?[0-9]+", re.IGNORECASE)


def run_number(words: str) -> int | None:
    """The number of a run; None for words that can only be a name.

    >>> run_number("r12"), run_number("12"), run_number("baseline")
    (12, 12, None)
    """
    match = _RUN.fullmatch(words.strip())
    return None if match is None else int(match[1])


def run_name(words: str) -> str | None:
    """A name of a run as it is stored; None for words that cannot be one. A name is one printable line, and neither a
    number, nor an option of a command.

    >>> run_name(" few-shot,  top 4 "), run_name("r12"), run_name("-x"), run_name("")
    ('few-shot, top 4', None, None, None)
    """
    name = " ".join(words.split())
    is_name = name.isprintable() and not name.startswith("-") and _NUMBER.fullmatch(name) is None
    return name if is_name and 0 < len(name) <= LONGEST_NAME else None


_MAX_FAILURES: Final = r"^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$"


def _max_failures(given: Any) -> Any:
    if isinstance(given, str) and re.fullmatch(_MAX_FAILURES, given) is None:
        raise ValueError("write a number of jobs from 1, or a percentage such as 10%")
    return given


MaxFailures = Annotated[str, BeforeValidator(_max_failures), StringConstraints(pattern=_MAX_FAILURES)]
"""A number of jobs, or a percentage of the finished ones such as `10%`."""

Amount = Annotated[int, Field(ge=1, le=MAX_ID)]


class Option(NamedTuple):
    """How a field is an option of a command, where its name and its type do not say it."""

    name: str | None = None
    metavar: str | None = None
    without_value: Any = None
    """The value of an option that none follows; None where one has to."""


class RunLimits(Request):
    """The limits of a run, over all of its jobs; None sets none."""

    max_failures: Annotated[MaxFailures | None, Field(examples=["10%"]), Option(metavar="N|P%")] = None
    """Pause the unfinished jobs of the run once N jobs have failed, or P% of those that finished, which are at least 20
    or half of a smaller run."""
    max_llm_calls: Annotated[Amount | None, Field(examples=[500]), Option(metavar="N")] = None
    """Calls of language models that the run may pay for; a job that needs another one is paused."""
    max_tokens: Annotated[Amount | None, Field(examples=[1_000_000]), Option(metavar="N")] = None
    """Tokens of prompts and replies that the run may pay for, and those of the calls in progress then; a job that needs
    another call is paused."""

    @property
    def given(self) -> dict[str, str | int]:
        """Those that are set."""
        return self.model_dump(include=set(RunLimits.model_fields), exclude_none=True)


#: A percentage of failures is not looked at before so many jobs have finished, or half of a smaller run.
LEAST_FINISHED: Final = 20


class RunLimitState(RunLimits):
    """The limits of a run, and what counts towards them."""

    llm_calls: int = 0
    """Calls that were sent; counted if there is a limit of calls or tokens."""
    tokens: int = 0
    """Of the calls that ended."""


def is_failing(max_failures: str, *, jobs: int, finished: int, failed: int) -> bool:
    """Whether a run of so many jobs has reached its limit of failures.

    >>> is_failing("3", jobs=100, finished=3, failed=3)
    True
    >>> [is_failing("50%", jobs=100, finished=n, failed=n - 9) for n in (19, 20)]
    [False, True]
    """
    number, percent = int(max_failures.rstrip("%")), max_failures.endswith("%")
    if not percent:
        return failed >= number
    is_enough = finished >= min(LEAST_FINISHED, max(jobs // 2, 1))
    return is_enough and 100 * failed >= number * finished


class Target(NamedTuple):
    """A run or a job: exactly one of the two is set."""

    run_id: int | None
    job_id: int | None

    def __str__(self) -> str:
        return f"r{self.run_id}" if self.job_id is None else f"j{self.job_id}"


# It names no host, no user and no folder: a report is passed on.


class Environment(Value):
    """Versions, commit and hardware of a process."""

    ragq_version: str = Field(examples=["0.1.0"])
    git_commit: str | None = Field(examples=[None])
    """The commit of the checkout that ragq is run from; None for an installed package."""
    git_dirty: bool | None = Field(examples=[None])
    """Whether the checkout had changes when the process started."""
    python: str = Field(examples=["3.12.4"])
    platform: str = Field(examples=["Linux-6.8.0-x86_64-with-glibc2.39"])
    packages: dict[str, str] = Field(examples=[{"numpy": "2.4.0"}])
    """Versions of the installed packages that results depend on."""
    cpu: str | None = Field(examples=["AMD EPYC 7763"])
    cores: int | None = Field(examples=[16])
    gpus: tuple[str, ...] = Field(examples=[["NVIDIA A100-SXM4-80GB"]])
    """The models of the graphics cards, as their driver names them."""


class RunEnvironment(Value):
    """An environment in which workers computed stages of a run."""

    stages: int = Field(examples=[24])
    """The stored stages that were computed there."""
    environment: Environment


class FrozenModel(Value):
    """A language model that a run is held to."""

    model: str = Field(examples=["gemma3:27b"])
    identity: ModelIdentity
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""


class RunOrigin(Value):
    """Where a run was submitted and computed, and which models and servers answered it."""

    submitter: Environment | None = None
    """None where that was not recorded."""
    workers: tuple[RunEnvironment, ...] = ()
    """The distinct environments of the workers that computed its stored stages, most stages first."""
    models: tuple[FrozenModel, ...] = ()
    servers: tuple[str, ...] = Field(default=(), examples=[["http://127.0.0.1:11434"]])
    """The servers whose answers it used, without secrets."""


@dataclass(frozen=True, slots=True)
class AttemptError:
    """How an attempt failed."""

    type: str
    """The class of the exception, as `module.Class`."""
    message: str
    """Safe to show and to log."""
    category: str
    details: dict[str, Any] | None = field(repr=False)
    """What is private: the raw reply, the exception's own message, the traceback. None where it was not read."""


class StageFailure(Value):
    """The error of an attempt of a stage, as it is shown."""

    stage: str = Field(examples=["validate"])
    attempt: int = Field(examples=[1])
    type: str = Field(examples=["schemas.errors.LLMTimeoutError"])
    message: str = Field(examples=["LLM request timed out after 600s"])
    category: str = Field(examples=["llm_timeout"])

    @property
    def kind(self) -> str:
        """What people call it: its category, or the class of an error that is of none."""
        return self.type.rpartition(".")[2] if self.category in ("", "unknown") else self.category


class ReportedFailure(Value):
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
    context: dict[str, Any]
    """Subject, job, mode, attempt and type of the error, and whether a later attempt stored the stage (`resolved`)."""


class FailureCounts(Value):
    """Counts of failures, each in descending order and then by name."""

    total_failures: int
    by_category: dict[str, int]
    by_severity: dict[str, int]
    by_stage: dict[str, int]


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


class FailedAttempt(Value):
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


class SettingValue(Value):
    """A setting frozen into a run."""

    value: Any
    source: str


class IndexSource(Value):
    """What a reference index is built from and with."""

    name: str
    data_set: str
    split: str
    split_csv_hash: str | None
    """None where the files of an imported index do not state it."""
    split_ids_hash: str
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    """Of the transcripts."""
    backend: str
    model: str
    dimension: int
    chunk_size: int
    chunk_step: int
    min_evidence_chars: int


class IndexIdentity(IndexSource):
    """A built reference index, and what it is built from."""

    id: int
    model_digest: str | None
    participants: int | None
    chunks: int | None

    @property
    def in_words(self) -> str:
        """Its name and its split."""
        return f"{self.name} ({self.data_set}/{self.split})"


class ScoredJob(Value):
    """One participant in one mode."""

    job_id: int
    mode: AssessmentMode
    participant_id: int
    status: JobStatus
    scores: ParticipantScores | None = Field(repr=False)
    """None until stage `score` is done."""
    labels: dict[str, Any] | None
    """The item labels that are stored now, by evidence key; None without any."""
    index_id: int | None
    embedding_digest: str | None
    """The weights that embedded the evidence; None without an embedding."""
    embedding_dtype: str | None
    """The number format of these weights, where it is known."""
    ranked: RankedReferences | None
    """None until stage `rerank` is done, and in zero-shot."""
    validated: ValidatedReferences | None
    """None until stage `validate` is done, and in zero-shot."""


class OutputTelemetry(Value):
    """How the output of a stage was obtained."""

    job_id: int
    stage: str
    repairs: tuple[str, ...]
    """Repairs that parsing the used replies needed."""
    reasks: tuple[str, ...]
    """The reasons of the re-asks before them."""
    cut_texts: int | None
    """Texts that the embedder cut; None for a stage that does not embed."""


class ReportedRun(Value):
    """What the reports of every kind of run need, read in one snapshot."""

    run_id: int
    submitted_at: datetime
    profile: str
    version: str
    identity: str
    settings_hash: str
    request: dict[str, Any]
    settings: dict[str, SettingValue]
    work: tuple[StageWork, ...]
    calls: tuple[StageCalls, ...] = ()
    """By job and stage."""
    telemetry: tuple[OutputTelemetry, ...] = ()
    origin: RunOrigin = RunOrigin()


class ScoredRun(ReportedRun):
    """A run of participants."""

    jobs: tuple[ScoredJob, ...]
    indexes: tuple[IndexIdentity, ...]
    failures: tuple[FailedAttempt, ...]
    siblings: tuple[Draw, ...] = ()
    """The modes of runs of the same work in all draws, this one included; empty without another draw."""

    @property
    def modes(self) -> tuple[AssessmentMode, ...]:
        """The modes of its jobs, zero-shot first."""
        present = {job.mode for job in self.jobs}
        return tuple(mode for mode in AssessmentMode if mode in present)

    def jobs_of(self, mode: AssessmentMode) -> tuple[ScoredJob, ...]:
        """The jobs of a mode, ascending by participant, whatever the order of their submission and completion."""
        return tuple(sorted((job for job in self.jobs if job.mode is mode), key=lambda job: job.participant_id))
