"""Turns with plausible times."""

import random
from collections.abc import Iterable

from demo.conversation import Turn

_PAUSE_MS = (200, 2600)
_START_MS = (1200, 9000)
_WORD_MS = (240, 460)
"""Each a half-open range: from, to."""


def transcript_file(turns: Iterable[Turn], rng: random.Random) -> bytes:
    """The turns as a DAIC-WOZ transcript: TAB separated, in seconds, one turn after the other."""
    now_ms = rng.randrange(*_START_MS)
    lines = ["start_time\tstop_time\tspeaker\tvalue"]
    for speaker, value in turns:
        stop_ms = now_ms + sum(rng.randrange(*_WORD_MS) for _ in value.split())
        lines.append(f"{_seconds(now_ms)}\t{_seconds(stop_ms)}\t{speaker}\t{value}")
        now_ms = stop_ms + rng.randrange(*_PAUSE_MS)
    return ("\n".join(lines) + "\n").encode()


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"
