"""Selective prediction in a report: one confidence in full, and the areas of all others."""

from functools import partial

import numpy as np

from schemas.errors import Refused
from schemas.values.metrics import Interval
from schemas.values.reports import (
    BandPoint,
    ChosenConfidence,
    ConfidenceMeasures,
    Measures,
    RiskAtCoverage,
    SelectivePrediction,
)
from schemas.values.scoring import ItemScore
from stages.metrics.achievable import aurc_achievable
from stages.metrics.bootstrap import bootstrap
from stages.metrics.cohort import ITEMS, Cohort
from stages.metrics.confidence import VARIANTS, Confidence, Signal, Variant
from stages.metrics.coverage import cmax
from stages.metrics.draws import Metric
from stages.metrics.oracle import augrc_optimal, aurc_optimal, excess_augrc, excess_aurc
from stages.metrics.risk_band import risk_band
from stages.metrics.selective import Loss, augrc, aurc, risk_at_coverage, risk_coverage_curve

_BAND_GRID = tuple(step / 100 for step in range(1, 101))


def selective_prediction(cohort: Cohort, *, variant: Variant, measures: Measures) -> SelectivePrediction:
    """All confidences that the run has the signals for. Raises Refused if the requested one is not among them.

    `variant` is what the requested name means. While nothing is scored, the signals are unknown, and no confidence is
    listed.
    """
    by_confidence: dict[str, ConfidenceMeasures] = {}
    unavailable: dict[str, str] = {}
    for name, one in VARIANTS.items() if cohort.is_scored.any() else ():
        try:
            by_confidence[name] = _areas(cohort, one.confidence, measures)
        except Refused as reason:
            unavailable[name] = str(reason)
    return SelectivePrediction(
        population=ITEMS * len(cohort),
        predicted=int(cohort.is_scored.sum()),
        cmax=_interval(cmax, cohort, measures),
        signals=signal_counts(cohort),
        chosen=_chosen(cohort, variant.confidence, measures),
        by_confidence=by_confidence,
        unavailable=unavailable,
    )


def signal_counts(cohort: Cohort) -> dict[str, int]:
    """How many scored items have each signal."""
    scored = [item for subject in cohort.subjects for item in subject.items.values() if item.score is not None]
    return {signal.value: sum(_has(item, signal) for item in scored) for signal in Signal}


def _has(item: ItemScore, signal: Signal) -> bool:
    match signal:
        case Signal.EVIDENCE:
            return item.evidence_count > 0
        case Signal.SIMILARITY:
            return item.retrieval.mean is not None
        case Signal.VERBALIZED:
            return item.confidence is not None
        case Signal.TOKENS:
            return item.tokens is not None
        case Signal.CONSISTENCY:
            return item.consistency is not None


def _areas(cohort: Cohort, confidence: Confidence, measures: Measures) -> ConfidenceMeasures:
    loss = Loss(measures.loss)
    return ConfidenceMeasures(
        aurc=_interval(partial(aurc, confidence=confidence, loss=loss), cohort, measures),
        augrc=_interval(partial(augrc, confidence=confidence, loss=loss), cohort, measures),
    )


def _chosen(cohort: Cohort, confidence: Confidence, measures: Measures) -> ChosenConfidence:
    loss = Loss(measures.loss)
    metrics: dict[str, Metric] = {
        "aurc": partial(aurc, confidence=confidence, loss=loss),
        "aurc_optimal": partial(aurc_optimal, loss=loss),
        "aurc_achievable": partial(aurc_achievable, confidence=confidence, loss=loss),
        "excess_aurc": partial(excess_aurc, confidence=confidence, loss=loss),
        "aurc_truncated": partial(aurc, confidence=confidence, loss=loss, up_to=measures.area_coverage),
        "augrc": partial(augrc, confidence=confidence, loss=loss),
        "augrc_optimal": partial(augrc_optimal, loss=loss),
        "excess_augrc": partial(excess_augrc, confidence=confidence, loss=loss),
        "augrc_truncated": partial(augrc, confidence=confidence, loss=loss, up_to=measures.area_coverage),
    }
    curve = risk_coverage_curve(cohort, confidence=confidence, loss=loss)
    band = risk_band(
        cohort,
        confidence=confidence,
        coverages=np.unique([*_BAND_GRID, *(point.coverage for point in curve)]).tolist(),
        loss=loss,
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return ChosenConfidence(
        confidence=measures.confidence,
        **{name: _interval(metric, cohort, measures) for name, metric in metrics.items()},
        risk_at_coverage={
            f"{coverage:g}": RiskAtCoverage(
                reached=next((point.coverage for point in curve if point.coverage >= coverage), None),
                risk=_interval(
                    partial(risk_at_coverage, coverage=coverage, confidence=confidence, loss=loss), cohort, measures
                ),
            )
            for coverage in measures.coverage_grid
        },
        curve=curve,
        band=tuple(BandPoint(**point._asdict()) for point in band),
    )


def _interval(metric: Metric, cohort: Cohort, measures: Measures) -> Interval:
    return bootstrap(metric, cohort, resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed)
