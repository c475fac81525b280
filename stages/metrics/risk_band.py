"""The interval around a risk-coverage curve at each point."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stages.metrics.bootstrap import PERCENTILES, RESAMPLES, SEED, draw
from stages.metrics.cohort import Cohort
from stages.metrics.confidence import Confidence
from stages.metrics.draws import everybody_once
from stages.metrics.selective import Loss, risks_reaching, steps


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
    around the scores of one participant.
    """
    if np.count_nonzero(cohort.scored_items) < 2:
        return ()
    confidences = cohort.of_items(confidence)
    here = steps(cohort, everybody_once(cohort), confidences=confidences, loss=loss)
    resampled = steps(cohort, draw(len(cohort), resamples=resamples, seed=seed), confidences=confidences, loss=loss)
    band = []
    risks = zip(coverages, risks_reaching(here, coverages), risks_reaching(resampled, coverages), strict=True)
    for coverage, (risk,), around in risks:
        around = around[~np.isnan(around)]
        if not np.isnan(risk) and len(around):
            low, high = np.percentile(around, PERCENTILES)
            band.append(RiskInterval(coverage, float(risk), float(low), float(high)))
    return tuple(band)
