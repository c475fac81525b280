"""The common form of all formulas: the weight of each participant.

A formula takes a cohort and a matrix of draws, one row per resample and one column per participant, and returns one
value per row. A row of ones is the cohort itself. So the point estimate and the bootstrap share each formula.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from stages.metrics.cohort import Cohort, Floats

Draws = Floats
"""How often each participant (column, in the order of the cohort) is in each resample (row)."""


class Metric(Protocol):
    """A formula, its other parameters bound by functools.partial."""

    def __call__(self, cohort: Cohort, draws: Draws, /) -> Floats:
        """One value per row of the draws; NaN if there is none, which is used only inside stages.metrics."""
        ...


class Metrics(Protocol):
    """Several formulas by name, so that they can share what they are made of."""

    def __call__(self, cohort: Cohort, draws: Draws, /) -> Mapping[str, Floats]:
        """The values of each formula."""
        ...


def together(metrics: Mapping[str, Metric]) -> Metrics:
    """Formulas that share nothing."""
    return lambda cohort, draws: {name: metric(cohort, draws) for name, metric in metrics.items()}


def value_of(metric: Metric, cohort: Cohort) -> float | None:
    """The metric over the cohort; None if it has no value, for example over no participants."""
    return known(float(metric(cohort, everybody_once(cohort))[0]))


def everybody_once(cohort: Cohort) -> Draws:
    """One row of ones."""
    return np.ones((1, len(cohort)))


def known(value: float) -> float | None:
    """The value, or None for NaN."""
    return None if np.isnan(value) else value


def ratio(parts: Floats, wholes: Floats) -> Floats:
    """parts / wholes; NaN if the whole is 0."""
    return np.asarray(parts / np.where(wholes == 0, np.nan, wholes))
