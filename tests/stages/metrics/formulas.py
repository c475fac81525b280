"""One metric at a time: every number of a curve as a formula of its own, and the bootstrap of one formula."""

from functools import partial
from typing import Any

from schemas.values.differences import ComparedMeasure, Measures
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
from stages.metrics.selective import curve_metrics


def _one(cohort: Cohort, draws: Draws, *, name: str, confidence: Confidence, **measures: Any) -> Floats:
    return curve_metrics(cohort, draws, confidence=confidence, measures=Measures(**measures))[name]


aurc, augrc, aurc_achievable, excess_aurc, excess_augrc, aurc_truncated, augrc_truncated = (
    partial(_one, name=name)
    for name in (
        *("aurc", "augrc", "aurc_achievable", "excess_aurc", "excess_augrc", "aurc_truncated", "augrc_truncated"),
    )
)


def risk_at_coverage(
    cohort: Cohort, draws: Draws, *, coverage: float, confidence: Confidence, loss: str = "abs_norm"
) -> Floats:
    """The risk at one coverage."""
    return _one(cohort, draws, name=f"{coverage:g}", confidence=confidence, loss=loss, coverage_grid=(coverage,))


def bootstrap(metric: Metric, cohort: Cohort, *, resamples: int = 10_000, seed: int = 42) -> Interval:
    """The interval of one metric."""
    return bootstrap_all(together({"": metric}), cohort, drawing(resamples, seed))[""]


def paired_delta(
    metric: Metric, left: Cohort, right: Cohort, *, resamples: int = 10_000, seed: int = 42
) -> ComparedMeasure:
    """The difference of one metric."""
    return paired_deltas(together({"": metric}), left, right, drawing(resamples, seed))[""]


def drawing(resamples: int, seed: int = 42) -> Measures:
    """Measures of so many resamples."""
    return Measures(bootstrap_resamples=resamples, bootstrap_seed=seed)


def _rate(cohort: Cohort, draws: Draws, *, of: Any, name: str, **options: Any) -> Floats:
    return of(cohort, draws, **options)[name]  # type: ignore[no-any-return]


f1, auroc = (partial(_rate, of=binary_rates, name=name) for name in ("f1", "auroc"))
total_mae, total_rmse, total_pearson_r, severity_accuracy = (
    partial(_rate, of=total_rates, name=name) for name in ("mae", "rmse", "pearson_r", "severity_accuracy")
)


def value_of(metric: Metric, cohort: Cohort) -> float | None:
    """The metric over the cohort; None if it has no value."""
    return known(float(metric(cohort, everybody_once(cohort))[0]))
