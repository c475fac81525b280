"""The main figures of scored runs, without intervals: for the registry of runs, and for comparing draws."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class JobScores(PlainValue):
    """The item scores of one participant in one mode."""

    run_id: int
    job_id: int
    mode: AssessmentMode
    participant_id: int
    status: JobStatus
    is_to_score: bool
    """False where the chain ends before stage `score`."""
    scores: dict[PHQ8Item, int | None] | None = field(repr=False)
    """All eight; None until stage `score` is done."""
    labels: dict[str, Any] | None = field(repr=False)
    """The ground truth of an imported job, else the currently stored item labels, by evidence key; None without any."""
    data_set: str | None = None
    """That of the participant; None where an imported run does not name one that is stored."""


class ExperimentStatus(StrEnum):
    """The state of one mode of a run."""

    SUCCEEDED = "succeeded"
    """Every job succeeded."""
    UNFINISHED = "unfinished"
    """A job is waiting, running or paused."""
    FAILED = "failed"
    """Finished, and a job did not succeed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeFigures(PlainValue):
    """One mode of a run."""

    mode: AssessmentMode
    status: ExperimentStatus
    participants: int
    evaluated: int
    """With ground truth and at least one scored item."""
    item_mae_weighted: float | None
    prediction_coverage: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw(PlainValue):
    """One run among those of the same work in other draws."""

    run_id: str
    draw: int
    evaluated: int
    item_mae_weighted: float | None
    prediction_coverage: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread(PlainValue):
    """A figure over the draws that have it."""

    mean: float | None
    std: float | None
    """Of a sample (ddof 1); None with fewer than two values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeDraws(PlainValue):
    """The draws of one mode."""

    mode: AssessmentMode
    draws: tuple[Draw, ...]
    """Ascending by draw; the run of the report is one of them."""
    item_mae_weighted: Spread
    prediction_coverage: Spread


@dataclass(frozen=True, kw_only=True, slots=True)
class SiblingRun(PlainValue):
    """A run of the same work and models in a draw, the run itself included."""

    run_id: int
    draw: int
    modes: tuple[ModeFigures, ...]
