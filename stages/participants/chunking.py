"""A transcript in overlapping windows of lines: the chunks of the reference index."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from schemas.values.phq8 import PHQ8Item


def chunk_transcript(text: str, *, size: int, step: int, min_chars: int) -> tuple[str, ...]:
    """The windows of `size` lines, each `step` lines after the one before, in order.

    Blank lines at the end do not count. Remaining lines get a last window that ends with the text, unless a window with
    the same text exists. Windows with fewer than `min_chars` characters, not counting white space around them, are
    dropped. Raises ValueError for windows that would skip lines.
    """
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    windows: list[str] = []
    for start in window_starts(len(lines), size=size, step=step):
        window = "\n".join(lines[start : start + size])
        is_left_over = start % step != 0
        if not (is_left_over and window in windows):
            windows.append(window)
    return tuple(window for window in windows if len(window.strip()) >= min_chars)


def window_starts(lines: int, *, size: int, step: int) -> list[int]:
    """The starts of the windows over this many lines, from 0; none without lines.

    >>> window_starts(13, size=8, step=2)
    [0, 2, 4, 5]
    """
    if size < 2 or not 1 <= step <= size:
        raise ValueError(
            f"Windows of {size} lines every {step} are not possible; size >= 2 and 1 <= step <= size are required."
        )
    if lines <= size:
        return [0] if lines else []
    last = lines - size
    starts = list(range(0, last + 1, step))
    return starts if starts[-1] == last else [*starts, last]


_QUOTES = re.compile("['’‘`]")


def tag_chunk(text: str) -> tuple[str, ...]:
    """The evidence keys of the items with a phrase in a line of the text, each once, in alphabetical order.

    A phrase matches whole words on one line, ignoring case, spacing and apostrophes.

    >>> tag_chunk("Participant: i CANT sleep\\nParticipant: since i retired i’m tired")
    ('PHQ8_Sleep', 'PHQ8_Tired')
    """
    plain = _plain(text)
    return tuple(sorted(item.evidence_key for item, pattern in _patterns().items() if pattern.search(plain)))


@cache
def phrases() -> Mapping[PHQ8Item, tuple[str, ...]]:
    """The phrases of each item as written in the file."""
    lists = tomllib.loads(_file())
    return {item: tuple(lists[item.evidence_key]) for item in PHQ8Item}


@cache
def _patterns() -> Mapping[PHQ8Item, re.Pattern[str]]:
    return {
        item: re.compile(rf"\b(?:{'|'.join(re.escape(_plain(phrase)) for phrase in of_item)})\b")
        for item, of_item in phrases().items()
    }


def _file() -> str:
    return (resources.files("stages.participants") / "item_phrases.toml").read_text("utf-8")


def _plain(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in _QUOTES.sub("", text.lower()).splitlines())
