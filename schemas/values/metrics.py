"""The metrics of a scored run. None is an undefined value; NaN or 0 is never used instead."""

from pydantic import Field

from schemas.values.base import Value
from schemas.values.phq8 import PHQ8Item


class ItemMetrics(Value):
    """One item over the evaluated participants."""

    mae: float | None
    count: int
    """Participants with a score for the item."""
    coverage: float | None
    """count / (count + na_count)"""
    na_count: int


class TotalMetrics(Value):
    """The total score, over the participants with enough scored items to have one."""

    subjects: int
    predicted: int
    coverage: float | None
    """predicted / subjects"""
    mae: float | None
    rmse: float | None
    pearson_r: float | None
    severity_accuracy: float | None


class Confusion(Value):
    """Participants by prediction and truth; positive is depressed."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int


class BinaryMetrics(Value):
    """Predictions of depression, over the participants whose bounds allow only one."""

    subjects: int
    predicted: int
    coverage: float | None
    """predicted / subjects"""
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    auroc: float | None
    confusion: Confusion


class Evaluation(Value):
    """The metrics of one mode of a run."""

    total_subjects: int
    successful_subjects: int
    failed_subjects: int
    excluded_no_evidence: int
    """Successful, without any scored item."""
    evaluated_subjects: int
    """Successful, with at least one scored item."""
    item_mae_weighted: float | None
    item_mae_by_item: float | None
    item_mae_by_subject: float | None
    prediction_coverage: float | None
    per_item: dict[PHQ8Item, ItemMetrics]
    total_metrics: TotalMetrics
    binary_metrics: BinaryMetrics


class RiskCoveragePoint(Value):
    """The point at which all items of at least this confidence are included."""

    confidence: float
    coverage: float
    """Included items / all items of all successful participants."""
    selective_risk: float
    """Mean loss of the included items."""
    generalized_risk: float
    """Their summed loss / all items."""


class ReliabilityBin(Value):
    """The scored items whose confidence falls between two bounds."""

    low: float
    high: float
    """Included only in the last bin."""
    count: int
    confidence: float | None
    """Mean."""
    exact: float | None
    """Share of scores that equal the truth."""
    loss: float | None
    """Mean."""


class Interval(Value):
    """A value with its 95 % percentile interval over resampled participants."""

    value: float | None = Field(examples=[0.75])
    low: float | None = Field(examples=[0.62])
    """None, as are `high` and `std`, for a value of one participant, which resampling cannot vary."""
    high: float | None = Field(examples=[0.86])
    std: float | None = Field(examples=[0.06])
    """Standard error: the sample standard deviation over the resamples; None for fewer than two of them."""
    drop_rate: float = Field(examples=[0.0])
    """Share of resamples in which the metric has no value."""
    resamples: int = Field(examples=[10000])


class PairedDelta(Value):
    """The difference of two runs on their common participants."""

    participants: int
    left: float | None
    right: float | None
    delta: Interval
    """right - left"""
