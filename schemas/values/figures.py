"""The main figures of scored runs, without intervals: for the registry of runs, and for comparing draws."""

from enum import StrEnum
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.phq8 import AssessmentMode, PHQ8Item


class JobScores(Value):
    """The item scores of one job."""

    run_id: int
    mode: AssessmentMode
    participant_id: int
    status: JobStatus
    scores: dict[PHQ8Item, int | None] | None
    """None until stage `score` is done."""
    labels: dict[str, Any] | None
    """The stored item labels of the participant by evidence key."""


class ExperimentStatus(StrEnum):
    """The state of one mode of a run."""

    SUCCEEDED = "succeeded"
    """Every job succeeded."""
    UNFINISHED = "unfinished"
    """A job is waiting, running or paused."""
    FAILED = "failed"
    """Finished, and a job did not succeed."""


class ModeFigures(Value):
    """One mode of a run."""

    mode: AssessmentMode
    status: ExperimentStatus
    participants: int
    evaluated: int
    """With ground truth and at least one scored item."""
    item_mae_weighted: float | None
    prediction_coverage: float | None


class Draw(Value):
    """One run among those of the same work in other draws."""

    run_id: str
    draw: int
    evaluated: int
    item_mae_weighted: float | None
    prediction_coverage: float | None


class Spread(Value):
    """A figure over the draws that have it."""

    mean: float | None
    std: float | None
    """Of a sample (ddof 1); None with fewer than two values."""


class ModeDraws(Value):
    """The draws of one mode."""

    mode: AssessmentMode
    draws: tuple[Draw, ...]
    """Ascending by draw; the run of the report is one of them."""
    item_mae_weighted: Spread
    prediction_coverage: Spread


class SiblingRun(Value):
    """A run of the same work and models in a draw, the run itself included."""

    run_id: int
    draw: int
    modes: tuple[ModeFigures, ...]
