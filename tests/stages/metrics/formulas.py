"""One metric at a time: every number of a curve as a formula of its own, and the bootstrap of one formula."""

from functools import partial
from typing import Any

from schemas.values.differences import ComparedMeasure
from schemas.values.scoring import Interval
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.confidence import Confidence
from stages.metrics.scores import (
    Cohort,
    Draws,
    Floats,
    Metric,
    binary_rates,
    everybody_once,
    known,
    together,
    total_rates,
)
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


def paired_delta(metric: Metric, left: Cohort, right: Cohort, **options: Any) -> ComparedMeasure:
    """The difference of one metric."""
    return paired_deltas(together({"": metric}), left, right, **options)[""]


def _rate(cohort: Cohort, draws: Draws, *, of: Any, name: str, **options: Any) -> Floats:
    return of(cohort, draws, **options)[name]  # type: ignore[no-any-return]


f1, auroc = (partial(_rate, of=binary_rates, name=name) for name in ("f1", "auroc"))
total_mae, total_rmse, total_pearson_r, severity_accuracy = (
    partial(_rate, of=total_rates, name=name) for name in ("mae", "rmse", "pearson_r", "severity_accuracy")
)


def value_of(metric: Metric, cohort: Cohort) -> float | None:
    """The metric over the cohort; None if it has no value."""
    return known(float(metric(cohort, everybody_once(cohort))[0]))
