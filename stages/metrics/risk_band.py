"""The interval around a risk-coverage curve at each point."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stages.metrics.bootstrap import PERCENTILES, RESAMPLES, SEED, draw
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import everybody_once
from stages.metrics.selective import Loss, Steps, steps


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
    """The band at the coverages that the cohort reaches; the risk is that of the first step to reach it.

    A resample that ends before a coverage does not count there. Near Cmax this is about half of them. There is no band
    around the scores of one participant.
    """
    if np.count_nonzero(cohort.scored_items) < 2:
        return ()
    confidences = cohort.of_items(confidence)
    here = steps(cohort, everybody_once(cohort), confidences=confidences, loss=loss)
    resampled = steps(cohort, draw(len(cohort), resamples=resamples, seed=seed), confidences=confidences, loss=loss)
    band = []
    for coverage in coverages:
        risk = _first_reaching(here, coverage)[0]
        around = _first_reaching(resampled, coverage)
        around = around[~np.isnan(around)]
        if not np.isnan(risk) and len(around):
            low, high = np.percentile(around, PERCENTILES)
            band.append(RiskInterval(coverage, float(risk), float(low), float(high)))
    return tuple(band)


def _first_reaching(curve: Steps, coverage: float) -> Floats:
    if not curve.coverage.shape[1]:
        return np.full(len(curve.coverage), np.nan)
    reaches = curve.coverage >= coverage
    risk = np.take_along_axis(curve.selective_risk, np.argmax(reaches, axis=1)[:, None], axis=1)[:, 0]
    return np.where(reaches.any(axis=1), risk, np.nan)
