"""The repair of headings by rules: their order of levels, and what is no heading."""

from collections.abc import Sequence
from typing import Final

from schemas.values.documents import Heading, Repair, RepairAction

DEEPEST = 4
"""The deepest level of a repaired heading."""
LONGEST_TITLE = 500
"""Characters; a heading that is longer is none."""
_BOXES: Final = frozenset(("note", "tip", "hint", "important", "warning", "caution", "attention", "danger"))
"""Titles of boxes within the text of a section."""


def repair_by_rules(headings: Sequence[Heading]) -> tuple[Repair, ...]:
    """A repair for each heading.

    A heading without a letter or digit, one that is too long, and one of a box that the table of contents does not have
    (`Note`, `Tip`) are removed. Where the document has a table of contents that half of the headings are in, its levels
    count. No level is left out: a heading is at most one level deeper than the heading around it.
    """
    agreed = [heading for heading in headings if heading.toc_level is not None]
    by_toc = len(agreed) * 2 >= len(headings)
    repairs: list[Repair] = []
    around: list[int] = []
    for heading in headings:
        is_box = heading.toc_level is None and heading.text.casefold().rstrip(":") in _BOXES
        if is_box or not any(map(str.isalnum, heading.text)) or len(heading.text) > LONGEST_TITLE:
            repairs.append(Repair(line=heading.line, action=RepairAction.REMOVE, text=heading.text[:LONGEST_TITLE]))
            continue
        wanted = heading.toc_level if by_toc and heading.toc_level is not None else heading.level
        while around and around[-1] >= wanted:
            around.pop()
        around.append(wanted)
        level = min(len(around), DEEPEST)
        action = RepairAction.NO_CHANGE if level == heading.level else RepairAction(f"H{level}")
        repairs.append(Repair(line=heading.line, action=action, text=heading.text))
    return tuple(repairs)
