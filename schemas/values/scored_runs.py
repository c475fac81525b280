"""A run as reports read it: the request, the stored outputs, and the times."""

from datetime import datetime
from typing import Any

from pydantic import Field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.costs import KeptStage, StageCalls
from schemas.values.failures import RunFailures
from schemas.values.figures import SiblingRun
from schemas.values.participants import RankedReferences, ValidatedReferences
from schemas.values.phq8 import AssessmentMode
from schemas.values.runs import RunOrigin
from schemas.values.scoring import ParticipantScores


class SettingValue(Value):
    """A setting frozen into a run."""

    value: Any
    source: str


class IndexIdentity(Value):
    """The source and the settings of a reference index."""

    id: int
    name: str
    data_set: str
    split: str
    split_csv_hash: str | None
    split_ids_hash: str
    variant: str = "unknown"
    """Of the transcripts."""
    backend: str
    model: str
    model_digest: str | None
    dimension: int
    chunk_size: int
    chunk_step: int
    min_evidence_chars: int
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
    """The ground truth of an imported job, else the currently stored item labels, by evidence key; None without any."""
    index_id: int | None
    embedding_digest: str | None
    """The weights that embedded the evidence; None without an embedding."""
    embedding_dtype: str | None
    """The number format of these weights, where it is known."""
    ranked: RankedReferences | None
    """None until stage `rerank` is done, and in zero-shot."""
    validated: ValidatedReferences | None
    """None until stage `validate` is done, and in zero-shot."""


class AttemptTime(Value):
    """The start and the end of an attempt."""

    job_id: int
    stage: str
    started_at: datetime
    ended_at: datetime | None
    """None while it runs."""


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


class CallCount(Value):
    """Language model calls of a job."""

    job_id: int
    paid: int
    reused: int


class ScoredRun(Value):
    """A run with everything that a report needs, read in one snapshot."""

    run_id: int
    profile: str
    version: str
    identity: str
    settings_hash: str
    request: dict[str, Any]
    settings: dict[str, SettingValue]
    jobs: tuple[ScoredJob, ...]
    indexes: tuple[IndexIdentity, ...]
    failures: RunFailures
    attempts: tuple[AttemptTime, ...]
    calls: tuple[CallCount, ...]
    stage_calls: tuple[StageCalls, ...] = ()
    retried: tuple[KeptStage, ...] = ()
    copied: tuple[KeptStage, ...] = ()
    telemetry: tuple[OutputTelemetry, ...]
    origin: RunOrigin = RunOrigin()
    siblings: tuple[SiblingRun, ...] = ()
    """Runs of the same work in all draws, this one included; empty without another draw."""
