"""The participants of a metric, as matrices: one row per participant, one column per item."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ItemScore, Subject, Totals
from stages.participants.score_reply import totals_of

Floats = NDArray[np.float64]

ORDER = tuple(PHQ8Item)
"""The items, in the order of the columns."""

ITEMS = len(ORDER)


@dataclass(frozen=True, eq=False)
class Cohort:
    """The successful participants of a run, ascending by id; build it with `cohort_of`."""

    subjects: tuple[Subject, ...]

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def participant_ids(self) -> tuple[int, ...]:
        return tuple(subject.participant_id for subject in self.subjects)

    def of_items(self, value: Callable[[ItemScore], float]) -> Floats:
        """A number for every scored item; 0 without a score."""
        rows = [
            [value(subject.items[item]) if subject.items[item].score is not None else 0.0 for item in ORDER]
            for subject in self.subjects
        ]
        return np.array(rows, dtype=np.float64).reshape(len(self), ITEMS)

    @cached_property
    def is_scored(self) -> NDArray[np.bool_]:
        """False where the item is N/A."""
        rows = [[subject.items[item].score is not None for item in ORDER] for subject in self.subjects]
        return np.array(rows, dtype=np.bool_).reshape(len(self), ITEMS)

    @cached_property
    def truth(self) -> Floats:
        rows = [[subject.truth[item] for item in ORDER] for subject in self.subjects]
        return np.array(rows, dtype=np.float64).reshape(len(self), ITEMS)

    @cached_property
    def scores(self) -> Floats:
        """0 without a score; see also `is_scored`."""
        return self.of_items(lambda item: float(item.score or 0))

    @cached_property
    def errors(self) -> Floats:
        """|score - truth|; 0 without a score."""
        return np.where(self.is_scored, np.abs(self.scores - self.truth), 0.0)

    @cached_property
    def bounds(self) -> tuple[Totals, ...]:
        """The bounds of the total of each participant."""
        return tuple(totals_of(item.score for item in subject.items.values()) for subject in self.subjects)

    @cached_property
    def totals(self) -> Floats:
        """The sum of the scored items of each participant."""
        return np.asarray(self.scores.sum(axis=1))

    @cached_property
    def true_totals(self) -> Floats:
        return np.asarray(self.truth.sum(axis=1))

    @cached_property
    def scored_items(self) -> Floats:
        """How many items of each participant have a score."""
        return np.asarray(self.is_scored.sum(axis=1), dtype=np.float64)


def cohort_of(subjects: Iterable[Subject]) -> Cohort:
    """The subjects in ascending order of their ids, which is the order of resampling.

    Raises ValueError when a participant is repeated, or when a subject lacks an item.
    """
    ordered = tuple(sorted(subjects, key=lambda subject: subject.participant_id))
    for subject, following in pairwise(ordered):
        if subject.participant_id == following.participant_id:
            raise ValueError(f"Participant {subject.participant_id} is given twice; give each participant once.")
    for subject in ordered:
        present = subject.items.keys() & subject.truth.keys()
        missing = [item.evidence_key for item in PHQ8Item if item not in present]
        if missing:
            raise ValueError(f"Participant {subject.participant_id} lacks {', '.join(missing)}; give all eight items.")
    return Cohort(ordered)


# A formula takes a cohort and a matrix of draws, one row per resample and one column per participant, and returns one
# value per row. A row of ones is the cohort itself. So the point estimate and the bootstrap share each formula.

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
