"""Calibrators: from confidences to the probability that a score is exact (Specs 048 and 049).

Temperature: Guo et al. 2017 (arXiv 1706.04599). Logistic: Platt 1999. Isotonic: Zadrozny and Elkan 2002.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import Refused
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ReliabilityBin
from stages.metrics.confidence import Confidence
from stages.metrics.scores import ORDER, Cohort, Floats
from stages.metrics.selective import Loss, losses

Exact = NDArray[np.bool_]
"""Whether each score equals the truth."""


class Fitted(NamedTuple):
    """A calibrator with its parameters."""

    probabilities: Callable[[Floats], Floats]
    """Of a matrix with one row per score and one column per confidence."""
    parameters: dict[str, float]


TEMPERATURES: Final = (0.05, 10.0)
"""The bounds of a temperature."""

_EDGE = 1e-6


def fit_temperature(confidences: Floats, exact: Exact) -> Fitted:
    """sigmoid(logit(p) / T) of one confidence p in 0..1, with the T of the smallest negative log-likelihood.

    The likelihood has one maximum in 1 / T. Raises Refused for confidences outside 0..1, or more than one.
    """
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]  # Loads for a second.

    if confidences.shape[1] != 1 or np.any((confidences < 0) | (confidences > 1)):
        raise Refused("A temperature calibrates one confidence in 0..1, such as verbalized; isotonic takes any.")

    def scaled(p: Floats, temperature: float) -> Floats:
        return np.asarray(_sigmoid(_logit(p[:, 0]) / temperature))

    signed = np.where(exact, 1, -1) * _logit(confidences[:, 0])
    found = minimize_scalar(
        lambda beta: np.mean(np.logaddexp(0, -beta * signed)),
        bounds=(1 / TEMPERATURES[1], 1 / TEMPERATURES[0]),
        options={"xatol": 1e-9},
    )
    temperature = float(1 / found.x)
    return Fitted(lambda p: scaled(p, temperature), {"temperature": temperature})


def fit_logistic(confidences: Floats, exact: Exact) -> Fitted:
    """Logistic regression on standardised confidences, with an L2 penalty of C = 1.

    Raises Refused when all scores are exact, or none.
    """
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]  # Loads for a second.

    if exact.all() or not exact.any():
        raise Refused("All scores to calibrate on are exact, or none is; logistic regression needs both.")
    mean, std = confidences.mean(axis=0), confidences.std(axis=0)
    std = np.where(std == 0, 1.0, std)
    model = LogisticRegression(C=1.0).fit((confidences - mean) / std, exact)
    weights, intercept = model.coef_[0], float(model.intercept_[0])
    return Fitted(
        lambda p: np.asarray(_sigmoid((p - mean) / std @ weights + intercept)),
        {"intercept": intercept} | {f"weight_{at}": float(weight) for at, weight in enumerate(weights, start=1)},
    )


def fit_isotonic(confidences: Floats, exact: Exact) -> Fitted:
    """The best non-decreasing function of one confidence, linear between its steps and constant beyond them.

    Raises Refused for more than one confidence.
    """
    from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]  # Loads for a second.

    if confidences.shape[1] != 1:
        raise Refused("Isotonic regression calibrates one confidence; logistic takes several.")
    model = IsotonicRegression(out_of_bounds="clip").fit(confidences[:, 0], exact.astype(np.float64))
    x, y = model.X_thresholds_, model.y_thresholds_
    return Fitted(lambda p: np.interp(p[:, 0], x, y), {"knots": float(len(x))})


METHODS: Final[Mapping[str, Callable[[Floats, Exact], Fitted]]] = {
    "temperature": fit_temperature,
    "logistic": fit_logistic,
    "isotonic": fit_isotonic,
}
"""Every method by name."""


def log_loss(probabilities: Floats, exact: Exact) -> float:
    """The mean negative log-likelihood; probabilities are kept away from 0 and 1.

    >>> round(log_loss(np.array([0.5, 0.5]), np.array([True, False])), 4)
    0.6931
    """
    p = _inside(probabilities)
    return float(-np.mean(np.where(exact, np.log(p), np.log(1 - p))))


def brier(probabilities: Floats, exact: Exact) -> float:
    """The mean squared distance of the probability from what happened."""
    return float(np.mean((probabilities - exact) ** 2))


def _inside(p: Floats) -> Floats:
    return np.asarray(np.clip(p, _EDGE, 1 - _EDGE))


def _logit(p: Floats) -> Floats:
    inside = _inside(p)
    return np.asarray(np.log(inside / (1 - inside)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def reliability(
    cohort: Cohort,
    *,
    confidence: Confidence,
    bins: int = 10,
    loss: Loss = Loss.ABS_NORM,
    only: PHQ8Item | None = None,
) -> tuple[ReliabilityBin, ...]:
    """The scored items, or one of the eight only, in bins of equal width over 0..1, lowest first.

    Empty bins are included, with None.

    Raises ValueError for a confidence outside 0..1, such as a count of quotes, which is not a probability.
    """
    scored = cohort.is_scored if only is None else cohort.is_scored & [item is only for item in ORDER]
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


def expected_calibration_error(cohort: Cohort, *, confidence: Confidence, bins: int = 10) -> float:
    """The distance of the mean confidence of a bin from its share of exact scores, weighted by its scores.

    Raises ValueError as `reliability`, and without a score.
    """
    found = [one for one in reliability(cohort, confidence=confidence, bins=bins) if one.count]
    distances = [abs((one.exact or 0.0) - (one.confidence or 0.0)) for one in found]
    return float(np.average(distances, weights=[one.count for one in found]))
