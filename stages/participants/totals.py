"""The bounds of a participant's PHQ-8 total."""

from collections.abc import Iterable

from schemas.values.phq8 import ITEM_SCORES
from schemas.values.scoring import Severity, Totals

_HIGHEST = ITEM_SCORES[-1]
_BAND = 5
_SEVERITIES = tuple(Severity)


def severity_of(total: int) -> Severity:
    """The band of a total, 0..24. Raises ValueError outside.

    >>> [severity_of(total).value for total in (4, 5, 14, 15, 24)]
    ['minimal', 'mild', 'moderate', 'mod_severe', 'severe']
    """
    if total not in range(8 * _HIGHEST + 1):
        raise ValueError(f"A PHQ-8 total is 0..24, not {total}.")
    return _SEVERITIES[min(total // _BAND, len(_SEVERITIES) - 1)]


def totals_of(scores: Iterable[int | None]) -> Totals:
    """The bounds of the total: every N/A may be a 0 or a 3. Without any N/A both bounds are the total.

    >>> totals_of([1, 2, 0, 3, 3, None, 0, 0]).model_dump(mode="json")["maximum"]
    12
    """
    values = list(scores)
    minimum = sum(value for value in values if value is not None)
    maximum = minimum + _HIGHEST * values.count(None)
    low, high = severity_of(minimum), severity_of(maximum)
    return Totals(
        minimum=minimum,
        maximum=maximum,
        minimum_severity=low,
        maximum_severity=high,
        severity=low if low is high else None,
    )
