"""Spans of time on one line, with long waits shortened so that the work remains visible."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

#: A wait is drawn no longer than this share of the total working time.
_WAIT_SHARE = 0.25


class Bar(NamedTuple):
    """A span of work: its start and its width, as shares of the whole line."""

    start: float
    width: float


class Wait(NamedTuple):
    """A span without work, drawn shorter than it was."""

    at: float
    """The position of its middle, as a share of the whole line."""
    seconds: float


class Waterfall(NamedTuple):
    """Bars in the order of the spans."""

    bars: list[Bar]
    waits: list[Wait]


def waterfall(spans: Sequence[tuple[float, float]]) -> Waterfall:
    """Bars for spans of time, each a start and an end in seconds; spans may overlap.

    If all spans are empty, the bars have no width. Without spans there are no bars.

    >>> waterfall([(0, 6), (6, 8), (1008, 1010)])
    Waterfall(bars=[Bar(start=0.0, width=0.48), Bar(start=0.48, width=0.16), Bar(start=0.84, width=0.16)], \
waits=[Wait(at=0.74, seconds=1000)])
    """
    busy = _joined(spans)
    longest_wait = _WAIT_SHARE * sum(end - start for start, end in busy)
    waited: list[tuple[float, float, float]] = []
    for (_, ended), (start, _) in pairwise(busy):
        if start - ended > longest_wait:
            waited.append((ended, start, start - ended - longest_wait))

    def moved(at: float) -> float:
        return at - busy[0][0] - sum(cut for _, until, cut in waited if until <= at)

    whole = moved(busy[-1][1]) if busy else 0.0
    share = 1 / whole if whole else 0.0
    return Waterfall(
        [Bar(moved(start) * share, (moved(end) - moved(start)) * share) for start, end in spans],
        [Wait((moved(until) - longest_wait / 2) * share, until - since) for since, until, _ in waited],
    )


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
