"""Two texts compared line by line, and word by word inside of changed lines."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final, NamedTuple

#: Equal lines around a change that are kept.
CONTEXT: Final = 3

#: Longer texts and lines are not searched for what they have in common, which takes more than linear time.
_MOST_LINES: Final = 2000
_MOST_WORDS: Final = 400

#: Lines with less in common than this are shown as different ones.
_ALIKE: Final = 0.4

_WORD: Final = re.compile(r"\w+|\s+|.")


class Side(StrEnum):
    """Which text has a line."""

    BOTH = "both"
    OLD = "old"
    NEW = "new"


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    is_changed: bool
    """The line that takes the place of this one has other words here."""


class DiffLine(NamedTuple):
    """A line of one text, or of both."""

    side: Side
    old: int | None
    """Its number in the old text, from 1."""
    new: int | None
    pieces: tuple[Piece, ...]


class Hunk(NamedTuple):
    """Changed lines with the equal ones around them."""

    skipped: int
    """Equal lines before it that are left out."""
    lines: tuple[DiffLine, ...]


def line_diff(old: str, new: str) -> list[Hunk]:
    """The changes from one text to another; none for equal texts.

    >>> [(line.side.value, line.old, line.new) for line in line_diff("a\\nb", "a\\nc")[0].lines]
    [('both', 1, 1), ('old', 2, None), ('new', None, 2)]
    """
    before, after = old.splitlines(), new.splitlines()
    hunks = []
    shown = 0
    for group in _groups(before, after):
        lines = [line for part in group for line in _lines(part, before, after)]
        hunks.append(Hunk(group[0][1] - shown, tuple(lines)))
        shown = group[-1][2]
    return hunks


_Part = tuple[str, int, int, int, int]
"""What is done to the old lines from the second number to the third, which become the new ones of the others."""


def _groups(before: Sequence[str], after: Sequence[str]) -> list[list[_Part]]:
    if before == after:
        return []
    if len(before) + len(after) > _MOST_LINES:
        return [[("replace", 0, len(before), 0, len(after))]]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return list(matcher.get_grouped_opcodes(CONTEXT))


def _lines(part: _Part, before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    tag, old_from, old_to, new_from, new_to = part
    if tag == "equal":
        for old, new in zip(range(old_from, old_to), range(new_from, new_to), strict=True):
            yield DiffLine(Side.BOTH, old + 1, new + 1, (Piece(before[old], False),))
        return
    gone, come = before[old_from:old_to], after[new_from:new_to]
    pairs = [_pieces(*pair) for pair in zip(gone, come, strict=False)]
    for place, text in enumerate(gone):
        pieces = pairs[place][0] if place < len(pairs) else (Piece(text, False),)
        yield DiffLine(Side.OLD, old_from + place + 1, None, pieces)
    for place, text in enumerate(come):
        pieces = pairs[place][1] if place < len(pairs) else (Piece(text, False),)
        yield DiffLine(Side.NEW, None, new_from + place + 1, pieces)


def _pieces(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    whole = (Piece(old, False),), (Piece(new, False),)
    if max(len(before), len(after)) > _MOST_WORDS:
        return whole
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return whole
    changes = matcher.get_opcodes()
    return (
        tuple(Piece("".join(before[a:b]), tag != "equal") for tag, a, b, _, _ in changes if b > a),
        tuple(Piece("".join(after[a:b]), tag != "equal") for tag, _, _, a, b in changes if b > a),
    )
