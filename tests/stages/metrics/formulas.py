"""One metric at a time, and all together."""

from schemas.values.differences import ComparedMeasure, Measures
from schemas.values.scoring import Interval
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.confidence import Confidence, evidence_count
from stages.metrics.scores import Cohort, Draws, Floats, Metric, everybody_once, known, together
from stages.metrics.selective import curve_metrics
from stages.reports.results import headline_metrics


def of_curve(name: str, confidence: Confidence = evidence_count, **measures: object) -> Metric:
    chosen = Measures.model_validate(measures)
    return lambda cohort, draws: curve_metrics(cohort, draws, confidence=confidence, measures=chosen)[name]


def risk_at(coverage: float, confidence: Confidence = evidence_count, loss: str = "abs_norm") -> Metric:
    return of_curve(f"{coverage:g}", confidence, loss=loss, coverage_grid=(coverage,))


def every_metric(cohort: Cohort, draws: Draws) -> dict[str, Floats]:
    """Every number of a report that has an interval."""
    measures = Measures(area_coverage=0.3, coverage_grid=(0.3,))
    of_curves = curve_metrics(cohort, draws, confidence=evidence_count, measures=measures)
    return {**headline_metrics(measures)(cohort, draws), **of_curves}


def bootstrap(metric: Metric, cohort: Cohort, *, resamples: int = 10_000, seed: int = 42) -> Interval:
    return bootstrap_all(together({"": metric}), cohort, drawing(resamples, seed))[""]


def paired_delta(metric: Metric, left: Cohort, right: Cohort, *, resamples: int, seed: int = 42) -> ComparedMeasure:
    return paired_deltas(together({"": metric}), left, right, drawing(resamples, seed))[""]


def drawing(resamples: int, seed: int = 42) -> Measures:
    return Measures(bootstrap_resamples=resamples, bootstrap_seed=seed)


def value_of(metric: Metric, cohort: Cohort) -> float | None:
    """The metric over the cohort; None if it has no value."""
    return known(float(metric(cohort, everybody_once(cohort))[0]))
