"""How often replies had to be repaired or asked for again, and texts were cut, per stage (Spec 060)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from schemas.chains import in_order
from schemas.values.reports import StageTelemetry
from schemas.values.scored_runs import OutputTelemetry


def telemetry(outputs: Iterable[OutputTelemetry], *, kind: str) -> dict[str, StageTelemetry]:
    """The counts over these outputs of jobs of a kind, by stage in the order of the chain.

    They describe the outputs that count: work that a later attempt replaced has no part in them.
    """
    by_stage: dict[str, list[OutputTelemetry]] = {}
    for output in outputs:
        by_stage.setdefault(output.stage, []).append(output)
    return {stage: _of_stage(by_stage[stage]) for stage in in_order(kind, by_stage)}


def _of_stage(outputs: Sequence[OutputTelemetry]) -> StageTelemetry:
    cut = [output.cut_texts for output in outputs if output.cut_texts is not None]
    return StageTelemetry(
        outputs=len(outputs),
        repairs=_counted(name for output in outputs for name in output.repairs),
        reasks=_counted(name for output in outputs for name in output.reasks),
        cut_texts=sum(cut) if cut else None,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


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
