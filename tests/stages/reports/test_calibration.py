"""Calibrators, and the errors by which they are judged."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize  # type: ignore[import-untyped]

from schemas.errors import Refused
from schemas.values.scoring import ReliabilityBin
from stages.metrics.confidence import evidence_count, evidence_share
from stages.metrics.scores import Floats
from stages.reports import calibration
from tests.stages.metrics.builders import cohort

#: Stated confidences 1..5 as 0..1, and whether the scores were exact: overconfident.
STATED = np.array([[1.0], [1.0], [0.75], [0.75], [0.75], [0.5], [0.25], [0.25]])
EXACT = np.array([True, False, True, False, True, False, False, True])


def at_temperature(p: Floats, temperature: float) -> Floats:
    inside = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(1 / (1 + np.exp(-np.log(inside / (1 - inside)) / temperature)))


def test_the_temperature_has_the_smallest_loss_of_all_on_a_fine_grid() -> None:
    probabilities, parameters = calibration.fit_temperature(STATED, EXACT)
    grid = np.exp(np.linspace(np.log(0.05), np.log(10), 20_000))
    of_grid = [at_temperature(STATED[:, 0], temperature) for temperature in grid]
    likelihoods = np.log(np.clip(np.where(EXACT, of_grid, 1 - np.array(of_grid)), 1e-6, 1)).sum(axis=1)

    assert parameters["temperature"] == pytest.approx(grid[int(np.argmax(likelihoods))], rel=1e-3)
    assert probabilities(STATED) == pytest.approx(at_temperature(STATED[:, 0], parameters["temperature"]))
    for exact, bound in zip((True, False), calibration.TEMPERATURES, strict=True):
        _, beyond = calibration.fit_temperature(np.array([[0.75], [0.8]]), np.array([exact, exact]))
        assert beyond["temperature"] == pytest.approx(bound, rel=1e-5)


def test_the_logistic_regression_minimises_the_penalised_loss() -> None:
    confidences = np.array([[1, 0.2], [2, 0.9], [3, 0.4], [1, 0.5], [2, 0.1], [3, 0.8]])
    exact = np.array([False, True, True, False, True, False])
    scaled = (confidences - confidences.mean(axis=0)) / confidences.std(axis=0)

    def penalised(weights: Floats) -> float:
        logits = scaled @ weights[1:] + weights[0]
        return float(np.sum(np.logaddexp(0, np.where(exact, -logits, logits))) + weights[1:] @ weights[1:] / 2)

    best = minimize(penalised, np.zeros(3), tol=1e-10).x
    probabilities, parameters = calibration.fit_logistic(confidences, exact)

    assert list(parameters) == ["intercept", "weight_1", "weight_2"]
    assert list(parameters.values()) == pytest.approx(best.tolist(), abs=1e-3)
    assert probabilities(confidences) == pytest.approx(1 / (1 + np.exp(-(scaled @ best[1:] + best[0]))), abs=1e-3)


def test_isotonic_regression_pools_what_decreases() -> None:
    counts = np.array([[1.0], [2.0], [2.0], [3.0], [4.0]])

    # The means are 1, 0.5, 0 and 1: the first three decrease, so they are pooled to 2 / 4.
    probabilities, _ = calibration.fit_isotonic(counts, np.array([True, True, False, False, True]))

    asked = np.array([[0.0], [1.0], [3.0], [3.5], [4.0], [9.0]])
    assert probabilities(asked).tolist() == [0.5, 0.5, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize(
    ("fit", "confidences", "exact", "words"),
    [
        (calibration.fit_temperature, [[2.0], [1.0]], [True, False], "confidence in 0..1"),
        (calibration.fit_temperature, [[0.1, 0.2], [0.2, 0.1]], [True, False], "one confidence"),
        (calibration.fit_isotonic, [[0.1, 0.2], [0.2, 0.1]], [True, False], "one confidence"),
        (calibration.fit_logistic, [[0.1], [0.2]], [True, True], "all scores to calibrate on are exact"),
    ],
)
def test_what_a_method_cannot_fit_is_refused(
    fit: Callable[[Floats, calibration.Exact], object], confidences: list[list[float]], exact: list[bool], words: str
) -> None:
    with pytest.raises(Refused, match=f"(?i){words}"):
        fit(np.array(confidences), np.array(exact))


def test_scored_items_fall_into_bins_by_confidence() -> None:
    # Shares 1/3, 2/3, 1, 1 with errors 3, 0, 0, 1; the fifth item has no score.
    items = cohort(("3001-", "0000", "12333"))

    low, high = calibration.reliability(items, confidence=evidence_share, bins=2)

    assert low == ReliabilityBin(low=0.0, high=0.5, count=1, confidence=1 / 3, exact=0.0, loss=1.0)
    assert high.model_dump() == pytest.approx(
        {"low": 0.5, "high": 1.0, "count": 3, "confidence": 8 / 9, "exact": 2 / 3, "loss": 1 / 9}
    )
    with pytest.raises(ValueError, match=r"Reliability needs confidences in 0\.\.1"):
        calibration.reliability(cohort(("1", "1", "2")), confidence=evidence_count)
