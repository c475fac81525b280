"""Calibration of a confidence, over all items and per item."""

import re
from collections.abc import Sequence
from functools import partial

from schemas.errors import Refused
from schemas.values.measures import Measures
from schemas.values.metrics import Interval
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import (
    BandPoint,
    Calibration,
    ChosenConfidence,
    ConfidenceMeasures,
    RiskAtCoverage,
    SelectivePrediction,
)
from schemas.values.scoring import ItemScore
from stages.metrics.bootstrap import bootstrap_all
from stages.metrics.calibrators import reliability
from stages.metrics.cohort import ITEMS, Cohort, Metrics, together
from stages.metrics.confidence import VARIANTS, Confidence, Signal, Variant, variant_named
from stages.metrics.scores import cmax
from stages.metrics.selective import Loss, areas, curve_metrics, risk_band, risk_coverage_curve
from stages.reports.calibrated import is_calibrated

_PERCENTS = tuple(step / 100 for step in range(1, 101))


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
        cmax=_intervals(together({"cmax": cmax}), cohort, measures)["cmax"],
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
    found = _intervals(partial(areas, confidence=confidence, loss=Loss(measures.loss)), cohort, measures)
    return ConfidenceMeasures(**found)


def _chosen(cohort: Cohort, confidence: Confidence, measures: Measures) -> ChosenConfidence:
    loss = Loss(measures.loss)
    grid = {f"{coverage:g}": coverage for coverage in sorted(measures.coverage_grid)}
    metrics = partial(
        curve_metrics, confidence=confidence, loss=loss, up_to=measures.area_coverage, coverages=tuple(grid.values())
    )
    intervals = _intervals(metrics, cohort, measures)
    risks = {name: intervals.pop(name) for name in grid}
    curve = risk_coverage_curve(cohort, confidence=confidence, loss=loss)
    band = risk_band(
        cohort,
        confidence=confidence,
        coverages=_of_band([point.coverage for point in curve]),
        loss=loss,
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return ChosenConfidence(
        confidence=measures.confidence,
        **intervals,
        risk_at_coverage={
            name: RiskAtCoverage(
                reached=next((point.coverage for point in curve if point.coverage >= coverage), None), risk=risks[name]
            )
            for name, coverage in grid.items()
        },
        curve=curve,
        band=tuple(BandPoint(**point._asdict()) for point in band),
    )


def _of_band(curve: Sequence[float]) -> list[float]:
    """Each percent, and each step of a curve that has no more steps than percents; of a longer one its end."""
    return sorted({*_PERCENTS, *(curve if len(curve) <= len(_PERCENTS) else curve[-1:])})


def _intervals(metrics: Metrics, cohort: Cohort, measures: Measures) -> dict[str, Interval]:
    return bootstrap_all(metrics, cohort, resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed)


#: Used if the chosen confidence is not in 0..1.
FALLBACK = "verbalized"

_COUNTS = {"llm", "total_evidence"}
"""Counts of quotes: 1 is one quote and not certainty, even if no item has more."""


def calibration(cohort: Cohort, *, variant: Variant, measures: Measures) -> Calibration | None:
    """The calibration of the chosen confidence if it is in 0..1, else of the confidence that the model stated.

    `variant` is what the name of the chosen confidence means. None if no scored item has a signal of the confidence: it
    would be the same for all.
    """
    name, loss = measures.confidence, Loss(measures.loss)
    if _COUNTS & set(re.split("[:+]", name)) and not is_calibrated(name):
        name, variant = FALLBACK, variant_named(FALLBACK)
    counts = signal_counts(cohort)
    if not any(counts[signal] for signal in variant.needs):
        return None

    def confidence(item: ItemScore) -> float:
        # The probabilities of a server may sum to slightly more than 1.
        return min(variant.confidence(item), 1.0)

    return Calibration(
        confidence=name,
        bins=reliability(cohort, confidence=confidence, loss=loss),
        per_item={
            item: reliability(cohort, confidence=confidence, bins=1, loss=loss, only=item)[0] for item in PHQ8Item
        },
    )
