"""Scores that take nothing from a transcript: what every scorer has to be better than."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import floor
from statistics import median
from typing import Any

from schemas.values.phq8 import ITEM_SCORES, PHQ8Item


def rounded(value: float) -> int:
    """The nearest score; of two equally near the higher one.

    >>> rounded(0.5), rounded(1.49)
    (1, 1)
    """
    return floor(value + 0.5)


def median_score(scores: Collection[int]) -> int | None:
    """The median, as a score; None of no scores."""
    return rounded(median(scores)) if scores else None


def modal_score(scores: Collection[int]) -> int | None:
    """The most frequent score, of equally frequent ones the lowest; None of no scores."""
    counts = Counter(scores)
    return min(counts, key=lambda score: (-counts[score], score)) if counts else None


def scores_by_item(labels: Iterable[Mapping[str, Any] | None]) -> dict[PHQ8Item, tuple[int, ...]]:
    """The scores of each item in stored labels by evidence key; people without a label of the item are left out."""
    known = [of_one for of_one in labels if of_one is not None]
    return {
        item: tuple(of_one[item.evidence_key] for of_one in known if of_one.get(item.evidence_key) in ITEM_SCORES)
        for item in PHQ8Item
    }


def baseline_record(source: str, labels: Collection[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The median and the mode of each item over the labels of a training split, by evidence key, as a run keeps them.

    None unless each item has a label.
    """
    scores = scores_by_item(labels)
    if not all(scores.values()):
        return None
    return {
        "split": source,
        "participants": sum(of_one is not None for of_one in labels),
        **{
            name: {item.evidence_key: of(scores[item]) for item in PHQ8Item}
            for name, of in (("median", median_score), ("mode", modal_score))
        },
    }
