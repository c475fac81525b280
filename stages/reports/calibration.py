"""Calibration of a confidence, over all items and per item."""

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from schemas.errors import Refused
from schemas.values.differences import Measures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.reports import (
    CalibratedConfidence,
    Calibration,
    CalibrationErrors,
    ChosenConfidence,
    ConfidenceMeasures,
    RiskAtCoverage,
    SelectivePrediction,
)
from schemas.values.runs import ScoredRun
from schemas.values.scoring import Interval, ItemScore
from stages.metrics.bootstrap import bootstrap_all
from stages.metrics.calibrators import METHODS, Exact, Fitted, brier, expected_calibration_error, log_loss, reliability
from stages.metrics.confidence import VARIANTS, Confidence, Signal, Variant, variant_named
from stages.metrics.scores import ITEMS, Cohort, Floats, Metrics, cmax, together
from stages.metrics.selective import Loss, areas, curve_metrics, risk_band, risk_coverage_curve
from stages.reports.results import cohort_of_jobs, jobs_of, modes_of

PREFIX = "calibrated:"

DEFAULT = "calibrated:temperature:verbalized"
"""The confidence of a report that calibrates and names none."""


def is_calibrated(name: str) -> bool:
    """Whether a confidence needs another run."""
    return name.startswith(PREFIX)


def calibrated_confidence(
    name: str, *, on: ScoredRun, run: ScoredRun, mode: AssessmentMode, cohort: Cohort
) -> tuple[Variant, CalibratedConfidence]:
    """The confidence `name`, fitted on the scores of run `on` in this mode, and how it was made.

    A score counts as right if it equals the truth. Raises Refused for a name that is none, for runs that share
    participants, whose truth the calibration would have seen, and where there is nothing to fit on.
    """
    method, variants = _parsed(name)
    shared = {job.participant_id for job in run.jobs} & {job.participant_id for job in on.jobs}
    if shared:
        raise Refused(
            f"r{on.run_id} and r{run.run_id} share {len(shared)} participants, so a calibration on r{on.run_id} would "
            "have seen their labels; calibrate on a run of another split, such as paper-val for paper-test."
        )
    if mode not in modes_of(on):
        raise Refused(
            f"Run r{on.run_id} has no jobs in mode {mode} to calibrate on; it has {' and '.join(modes_of(on))}."
        )
    training = cohort_of_jobs(jobs_of(on, mode))
    needs = frozenset[Signal]().union(*(variant.needs for variant in variants))
    is_used = training.is_scored & _has_signals(training, needs)
    if not is_used.any():
        raise Refused(f"Run r{on.run_id} has no score in mode {mode} with labels and the signals of {name!r}.")
    fitted = METHODS[method](_confidences(training, variants)[is_used], training.errors[is_used] == 0)
    confidence = _applied(fitted, variants)
    return (
        Variant(confidence, needs),
        CalibratedConfidence(
            confidence=name,
            method=method,
            fitted_on=f"r{on.run_id}",
            split=on.request.get("split"),
            participants=int(np.count_nonzero(is_used.any(axis=1))),
            items=int(is_used.sum()),
            parameters=fitted.parameters,
            before=_errors(cohort, variants[0].confidence) if len(variants) == 1 else None,
            after=_errors(cohort, confidence),
        ),
    )


def _parsed(name: str) -> tuple[str, list[Variant]]:
    method, _, names = name.removeprefix(PREFIX).partition(":")
    if method not in METHODS or not names:
        raise Refused(
            f"{name!r} is no calibrated confidence; write calibrated:METHOD:A with a method of {', '.join(METHODS)}, "
            "or calibrated:logistic:A+B."
        )
    return method, [variant_named(one) for one in names.split("+")]


def _confidences(cohort: Cohort, variants: Sequence[Variant]) -> Floats:
    return np.stack([cohort.of_items(variant.confidence) for variant in variants], axis=-1)


def _has_signals(cohort: Cohort, needs: frozenset[Signal]) -> Exact:
    """Without a statement of the model there is nothing to learn about its statements."""
    if Signal.VERBALIZED not in needs:
        return np.ones_like(cohort.is_scored)
    return np.asarray(cohort.of_items(lambda item: float(item.confidence is not None)) == 1)


def _applied(fitted: Fitted, variants: Sequence[Variant]) -> Confidence:
    def confidence(item: ItemScore) -> float:
        return float(fitted.probabilities(np.array([[variant.confidence(item) for variant in variants]]))[0])

    return confidence


def _errors(cohort: Cohort, confidence: Confidence) -> CalibrationErrors | None:
    """None without a score, or for a confidence that is no probability."""
    found = cohort.of_items(confidence)[cohort.is_scored]
    if not len(found) or np.any((found < 0) | (found > 1)):
        return None
    exact = cohort.errors[cohort.is_scored] == 0
    return CalibrationErrors(
        ece=expected_calibration_error(cohort, confidence=confidence),
        brier=brier(found, exact),
        log_loss=log_loss(found, exact),
    )


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
        band=band,
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
