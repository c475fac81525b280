"""The scores of a participant run beside the truth: what a reader looks at first."""

from dataclasses import dataclass, field

from schemas.statuses import JobStatus
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeScores(PlainValue):
    """One participant in one mode."""

    job_id: int
    status: JobStatus
    items: dict[PHQ8Item, int | None] | None
    """All eight; None for an item is N/A: the model abstained. None for all: not scored."""
    total: int | None
    """The sum, where all eight items have a score."""
    lowest_total: int | None
    """N/A counted as 0; None where the participant is not scored."""
    highest_total: int | None
    """N/A counted as 3."""
    mae: float | None
    """Over the items with a score; None without one or without ground truth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParticipantRow(PlainValue):
    """One participant with the truth."""

    participant_id: int
    truth: dict[PHQ8Item, int] | None
    """All eight; None without valid labels."""
    truth_total: int | None
    modes: dict[AssessmentMode, ModeScores]
    """A mode that the participant was not submitted in is absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeSummary(PlainValue):
    """One mode over all participants of the run."""

    mode: AssessmentMode
    participants: int
    scored: int
    """Participants with scores; each of the others is in some state before that, or failed."""
    compared: int
    """Of these, with ground truth and at least one item that has a score."""
    mae: float | None
    """Over all items with a score and ground truth: `item_mae_weighted` of the report."""
    compared_items: int
    """Those items."""
    na_items: int
    """Items of scored participants that the model gave no score."""
    median_mae: float | None
    """The MAE of the median of the training split, over the compared items; None where its labels are not stored."""
    modal_mae: float | None
    """The same of the most frequent score there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreTable(PlainValue):
    """A participant run."""

    run_id: int
    data_set: str | None
    """Whose participants they are; None where an imported run does not name one that is stored."""
    modes: tuple[ModeSummary, ...]
    """Few-shot first."""
    participants: tuple[ParticipantRow, ...] = field(repr=False)
    """Ascending by number."""
