"""One metric at a time: every number of a curve as a formula of its own, and the bootstrap of one formula."""

from functools import partial
from typing import Any

from schemas.values.metrics import Interval, PairedDelta
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.confidence import Confidence
from stages.metrics.scores import Cohort, Draws, Floats, Metric, together
from stages.metrics.selective import Loss, curve_metrics


def _one(
    cohort: Cohort,
    draws: Draws,
    *,
    name: str,
    confidence: Confidence,
    loss: Loss = Loss.ABS_NORM,
    up_to: float | None = None,
) -> Floats:
    if up_to is None:
        return curve_metrics(cohort, draws, confidence=confidence, loss=loss)[name]
    return curve_metrics(cohort, draws, confidence=confidence, loss=loss, up_to=up_to)[f"{name}_truncated"]


aurc, augrc, aurc_achievable, excess_aurc, excess_augrc = (
    partial(_one, name=name) for name in ("aurc", "augrc", "aurc_achievable", "excess_aurc", "excess_augrc")
)


def risk_at_coverage(
    cohort: Cohort, draws: Draws, *, coverage: float, confidence: Confidence, loss: Loss = Loss.ABS_NORM
) -> Floats:
    """The risk at one coverage."""
    return curve_metrics(cohort, draws, confidence=confidence, loss=loss, coverages=[coverage])[f"{coverage:g}"]


def bootstrap(metric: Metric, cohort: Cohort, **options: Any) -> Interval:
    """The interval of one metric."""
    return bootstrap_all(together({"": metric}), cohort, **options)[""]


def paired_delta(metric: Metric, left: Cohort, right: Cohort, **options: Any) -> PairedDelta:
    """The difference of one metric."""
    (deltas,) = paired_deltas(together({"": metric}), left, right, **options)
    return deltas[""]
