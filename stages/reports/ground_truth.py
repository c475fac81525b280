"""The item labels of a participant, if they are valid."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from schemas.values.phq8 import ITEM_SCORES, PHQ8Item
from stages.failures import FailureCategory

_KEYS: Final = {item: item.evidence_key for item in PHQ8Item}


class GroundTruth(NamedTuple):
    """All eight item scores; or None and the problem."""

    items: dict[PHQ8Item, int] | None
    problem: FailureCategory | None = None


def ground_truth(labels: Mapping[str, Any] | None) -> GroundTruth:
    """Stored labels by evidence key as item scores. A label that is missing or outside 0..3 invalidates all eight.

    >>> ground_truth(None).problem.value, ground_truth({"PHQ8_Sleep": 4}).problem.value
    ('ground_truth_missing', 'ground_truth_invalid')
    """
    if labels is None:
        return GroundTruth(None, FailureCategory.GROUND_TRUTH_MISSING)
    items: dict[PHQ8Item, Any] = {item: labels.get(key) for item, key in _KEYS.items()}
    if any(type(score) is not int or score not in ITEM_SCORES for score in items.values()):
        return GroundTruth(None, FailureCategory.GROUND_TRUTH_INVALID)
    return GroundTruth(items)
