"""The interval around a risk-coverage curve at each point."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stages.metrics import bootstrap
from stages.metrics.bootstrap import RESAMPLES, SEED, bounds_of, resampled
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import Draws, everybody_once
from stages.metrics.selective import Loss, population, risks_reaching, steps


class RiskInterval(NamedTuple):
    """The selective risk at a coverage, with its 95 % percentile interval over the resamples that reach it."""

    coverage: float
    risk: float
    low: float
    high: float


def risk_band(
    cohort: Cohort,
    *,
    confidence: Confidence,
    coverages: Sequence[float],
    loss: Loss = Loss.ABS_NORM,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[RiskInterval, ...]:
    """The band at those of ascending coverages that the cohort reaches; the risk is that of the first step to reach it.

    A resample that ends before a coverage does not count there. Near Cmax this is about half of them. There is no band
    around the scores of fewer than LEAST participants.
    """
    if np.count_nonzero(cohort.scored_items) < bootstrap.LEAST:
        return ()
    confidences = cohort.of_items(confidence)

    def risks(draws: Draws) -> dict[float, Floats]:
        curve = steps(cohort, draws, confidences=confidences, loss=loss)
        return dict(zip(coverages, risks_reaching(curve, population(draws), coverages), strict=True))

    here, around = risks(everybody_once(cohort)), resampled(risks, len(cohort), resamples=resamples, seed=seed)
    band = []
    for coverage in coverages:
        (risk,), reaching = here[coverage], around[coverage][~np.isnan(around[coverage])]
        if not np.isnan(risk) and len(reaching):
            band.append(RiskInterval(coverage, float(risk), *bounds_of(reaching)))
    return tuple(band)
