"""How good confidences are: selective prediction and calibration; and calibrators, from a confidence to the probability
that a score is exact (Specs 048 and 049).

Temperature: Guo et al. 2017 (arXiv 1706.04599). Logistic: Platt 1999. Isotonic: Zadrozny and Elkan 2002.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schemas.errors import Refused
from schemas.values.differences import Measures
from schemas.values.participants import AssessmentMode
from schemas.values.reports import (
    CalibratedConfidence,
    Calibration,
    ChosenConfidence,
    RiskAtCoverage,
    SelectivePrediction,
)
from schemas.values.runs import ScoredRun
from schemas.values.scoring import Interval, ItemScore, ReliabilityBin
from stages.metrics.bootstrap import bootstrap_all
from stages.metrics.confidence import VARIANTS, Confidence, Signal, Variant, variant_named
from stages.metrics.scores import ITEMS, Cohort, Floats, cmax, together
from stages.metrics.selective import areas, curve_metrics, losses, risk_coverage_curve
from stages.reports.results import cohort_of_jobs

PREFIX = "calibrated:"

DEFAULT = "calibrated:temperature:verbalized"
"""The confidence of a report that calibrates and names none."""


Exact = NDArray[np.bool_]
"""Whether each score equals the truth."""


Fitted = tuple[Callable[[Floats], Floats], dict[str, float]]
"""The probabilities of a matrix with one row per score and one column per confidence, and the parameters."""


def is_calibrated(name: str) -> bool:
    """Whether a confidence needs another run."""
    return name.startswith(PREFIX)


def calibrated_confidence(
    name: str, *, on: ScoredRun, run: ScoredRun, mode: AssessmentMode, cohort: Cohort
) -> tuple[Variant, CalibratedConfidence]:
    """The confidence `name`, fitted on the scores of run `on` in this mode, and how it was made. A score counts as
    right if it equals the truth. Raises Refused for a name that is none, for runs that share participants, whose truth
    the calibration would have seen, and where there is nothing to fit on."""
    method, variants = _parsed(name)
    shared = {job.participant_id for job in run.jobs} & {job.participant_id for job in on.jobs}
    if shared:
        raise Refused(
            f"r{on.run_id} and r{run.run_id} share {len(shared)} participants, so a calibration on r{on.run_id} would "
            "have seen their labels; calibrate on a run of another split, such as paper-val for paper-test."
        )
    if mode not in on.modes:
        raise Refused(f"Run r{on.run_id} has no jobs in mode {mode} to calibrate on; it has {' and '.join(on.modes)}.")
    training = cohort_of_jobs(on.jobs_of(mode))
    needs = frozenset[Signal]().union(*(variant.needs for variant in variants))
    is_used = training.is_scored
    if Signal.VERBALIZED in needs:
        # Without a statement of the model there is nothing to learn about its statements.
        is_used = is_used & (training.of_items(lambda item: float(item.confidence is not None)) == 1)
    if not is_used.any():
        raise Refused(f"Run r{on.run_id} has no score in mode {mode} with labels and the signals of {name!r}.")
    confidences = np.stack([training.of_items(variant.confidence) for variant in variants], axis=-1)
    probabilities, parameters = METHODS[method](confidences[is_used], training.errors[is_used] == 0)

    def confidence(item: ItemScore) -> float:
        return float(probabilities(np.array([[variant.confidence(item) for variant in variants]]))[0])

    return (
        Variant(confidence, needs),
        CalibratedConfidence(
            confidence=name,
            method=method,
            fitted_on=f"r{on.run_id}",
            split=on.request.get("split"),
            participants=int(np.count_nonzero(is_used.any(axis=1))),
            items=int(is_used.sum()),
            parameters=parameters,
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


def _errors(cohort: Cohort, confidence: Confidence) -> dict[str, float] | None:
    """None without a score, or for a confidence that is no probability."""
    found = cohort.of_items(confidence)[cohort.is_scored]
    if not len(found) or np.any((found < 0) | (found > 1)):
        return None
    exact, inside = cohort.errors[cohort.is_scored] == 0, _inside(found)
    bins = reliability(cohort, confidence=confidence)
    return {
        "ece": sum(one.count * abs((one.exact or 0.0) - (one.confidence or 0.0)) for one in bins) / len(found),
        "brier": float(np.mean((found - exact) ** 2)),
        "log_loss": float(-np.mean(np.log(np.where(exact, inside, 1 - inside)))),
    }


def selective_prediction(cohort: Cohort, *, variant: Variant, measures: Measures) -> SelectivePrediction:
    """All confidences that the run has the signals for; none while nothing is scored. Raises Refused if the requested
    one, which is `variant`, is not among them."""
    by_confidence: dict[str, dict[str, Interval]] = {}
    unavailable: dict[str, str] = {}
    for name, one in VARIANTS.items() if cohort.is_scored.any() else ():
        try:
            by_confidence[name] = bootstrap_all(
                partial(areas, confidence=one.confidence, loss=measures.loss), cohort, measures
            )
        except Refused as reason:
            unavailable[name] = str(reason)
    return SelectivePrediction(
        population=ITEMS * len(cohort),
        predicted=int(cohort.is_scored.sum()),
        cmax=bootstrap_all(together({"cmax": cmax}), cohort, measures)["cmax"],
        signals=signal_counts(cohort),
        chosen=_chosen(cohort, variant.confidence, measures),
        by_confidence=by_confidence,
        unavailable=unavailable,
    )


_HAS: Final[Mapping[Signal, Callable[[ItemScore], bool]]] = {
    Signal.EVIDENCE: lambda item: item.evidence_count > 0,
    Signal.SIMILARITY: lambda item: item.retrieval.mean is not None,
    Signal.VERBALIZED: lambda item: item.confidence is not None,
    Signal.TOKENS: lambda item: item.tokens is not None,
    Signal.CONSISTENCY: lambda item: item.consistency is not None,
}


def signal_counts(cohort: Cohort) -> dict[str, int]:
    """How many scored items have each signal."""
    scored = [item for subject in cohort.subjects for item in subject.items.values() if item.score is not None]
    return {signal.value: sum(map(has, scored)) for signal, has in _HAS.items()}


def _chosen(cohort: Cohort, confidence: Confidence, measures: Measures) -> ChosenConfidence:
    grid = {f"{coverage:g}": coverage for coverage in measures.coverage_grid}
    intervals = bootstrap_all(partial(curve_metrics, confidence=confidence, measures=measures), cohort, measures)
    risks = {name: intervals.pop(name) for name in grid}
    curve = risk_coverage_curve(cohort, confidence=confidence, loss=measures.loss)
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
    )


#: Used if the chosen confidence is not in 0..1.
FALLBACK = "verbalized"

_COUNTS = {"llm", "total_evidence"}
"""Counts of quotes: 1 is one quote and not certainty, even if no item has more."""


def calibration(cohort: Cohort, *, variant: Variant, measures: Measures) -> Calibration | None:
    """The calibration of the chosen confidence, which is `variant`, if it is in 0..1, else of the confidence that the
    model stated. None if no scored item has a signal of it: it would be the same for all."""
    name = measures.confidence
    if _COUNTS & set(re.split("[:+]", name)) and not is_calibrated(name):
        name, variant = FALLBACK, variant_named(FALLBACK)
    counts = signal_counts(cohort)
    if not any(counts[signal] for signal in variant.needs):
        return None

    def confidence(item: ItemScore) -> float:
        # The probabilities of a server may sum to slightly more than 1.
        return min(variant.confidence(item), 1.0)

    return Calibration(confidence=name, bins=reliability(cohort, confidence=confidence, loss=measures.loss))


TEMPERATURES: Final = (0.05, 10.0)
"""The bounds of a temperature."""

_EDGE = 1e-6


def fit_temperature(confidences: Floats, exact: Exact) -> Fitted:
    """sigmoid(logit(p) / T) of one confidence p in 0..1, with the T of the smallest negative log-likelihood. The
    likelihood has one maximum in 1 / T. Raises Refused for confidences outside 0..1, or more than one."""
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]  # Loads for a second.
    from scipy.special import expit, logit  # type: ignore[import-untyped]

    if confidences.shape[1] != 1 or np.any((confidences < 0) | (confidences > 1)):
        raise Refused("A temperature calibrates one confidence in 0..1, such as verbalized; isotonic takes any.")

    signed = np.where(exact, 1, -1) * logit(_inside(confidences[:, 0]))
    found = minimize_scalar(
        lambda beta: np.mean(np.logaddexp(0, -beta * signed)),
        bounds=(1 / TEMPERATURES[1], 1 / TEMPERATURES[0]),
        options={"xatol": 1e-9},
    )
    temperature = float(1 / found.x)
    return lambda p: np.asarray(expit(logit(_inside(p[:, 0])) / temperature)), {"temperature": temperature}


def fit_logistic(confidences: Floats, exact: Exact) -> Fitted:
    """Logistic regression on standardised confidences, with an L2 penalty of C = 1. Raises Refused when all scores are
    exact, or none."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]  # Loads for a second.
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    if exact.all() or not exact.any():
        raise Refused("All scores to calibrate on are exact, or none is; logistic regression needs both.")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0)).fit(confidences, exact)
    weights = {f"weight_{at}": float(weight) for at, weight in enumerate(model[-1].coef_[0], start=1)}
    return lambda p: np.asarray(model.predict_proba(p)[:, 1]), {"intercept": float(model[-1].intercept_[0]), **weights}


def fit_isotonic(confidences: Floats, exact: Exact) -> Fitted:
    """The best non-decreasing function of one confidence, linear between its steps and constant beyond them. Raises
    Refused for more than one confidence."""
    from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]  # Loads for a second.

    if confidences.shape[1] != 1:
        raise Refused("Isotonic regression calibrates one confidence; logistic takes several.")
    model = IsotonicRegression(out_of_bounds="clip").fit(confidences[:, 0], exact.astype(np.float64))
    return lambda p: np.asarray(model.predict(p[:, 0])), {"knots": float(len(model.X_thresholds_))}


METHODS: Final[Mapping[str, Callable[[Floats, Exact], Fitted]]] = {
    "temperature": fit_temperature,
    "logistic": fit_logistic,
    "isotonic": fit_isotonic,
}
"""Every method by name."""


def _inside(p: Floats) -> Floats:
    return np.asarray(np.clip(p, _EDGE, 1 - _EDGE))


def reliability(
    cohort: Cohort, *, confidence: Confidence, bins: int = 10, loss: str = "abs_norm"
) -> tuple[ReliabilityBin, ...]:
    """The scored items in bins of equal width over 0..1, lowest first. Empty bins are included, with None. Raises
    ValueError for a confidence outside 0..1, such as a count of quotes."""
    scored = cohort.is_scored
    confidences = cohort.of_items(confidence)[scored]
    if np.any((confidences < 0) | (confidences > 1)):
        raise ValueError("Reliability needs confidences in 0..1; choose one that is, such as verbalized.")
    edges = np.linspace(0, 1, bins + 1)
    bin_of = np.minimum(np.searchsorted(edges, confidences, side="right") - 1, bins - 1)
    columns = confidences, (cohort.errors[scored] == 0).astype(np.float64), losses(cohort, loss)[scored]

    def of_bin(at: int) -> ReliabilityBin:
        members = bin_of == at
        means = [float(column[members].mean()) if members.any() else None for column in columns]
        return ReliabilityBin(
            low=float(edges[at]),
            high=float(edges[at + 1]),
            count=int(members.sum()),
            confidence=means[0],
            exact=means[1],
            loss=means[2],
        )

    return tuple(of_bin(at) for at in range(bins))
