"""Calibration of confidences: the frequency and the size of errors for each level of confidence."""

import numpy as np

from schemas.values.metrics import ReliabilityBin
from schemas.values.phq8 import PHQ8Item
from stages.metrics.cohort import ORDER, Cohort
from stages.metrics.confidence import Confidence
from stages.metrics.selective import Loss, losses


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
