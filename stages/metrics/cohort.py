"""The participants of a metric, as matrices: one row per participant, one column per item."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ItemScore, Subject, Totals
from stages.participants.totals import totals_of

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
