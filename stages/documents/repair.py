"""The repair of headings by rules: their order of levels, and what is no heading."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from schemas.values.documents import Heading, Repair, RepairAction
from stages.corpora.blocks import Block, BlockKind, read_markdown
from stages.corpora.lines import lines_of

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


def sanitise(markdown: str, repairs: Sequence[Repair], page_lines: Sequence[int]) -> tuple[str, tuple[int, ...]]:
    """The markdown with its headings repaired, and the line at which each page begins there.

    REMOVE leaves the heading out. H1 to H4 write it at that level, NO_CHANGE at its own; both with the repair's text,
    and with the markup of the heading's words where these are the repair's.
    """
    lines = lines_of(markdown)
    by_line = {repair.line: repair for repair in repairs}
    dropped: list[int] = []
    for block in read_markdown(markdown).blocks:
        repair = by_line.get(block.start_line)
        if block.kind is not BlockKind.HEADING or repair is None:
            continue
        covered = range(block.start_line, block.end_line + 1)
        if repair.action is RepairAction.REMOVE:
            dropped += covered
            continue
        level = block.level if repair.action is RepairAction.NO_CHANGE else int(repair.action.value[1])
        written = _written(lines, block) if " ".join(block.text.split()) == repair.text else repair.text
        lines[block.start_line - 1] = f"{'#' * level} {written}".rstrip()
        dropped += covered[1:]
    gone = set(dropped)
    kept = [line for number, line in enumerate(lines, start=1) if number not in gone]
    pages = tuple(first - bisect_left(dropped, first) for first in page_lines)
    return "\n".join(kept) + "\n", pages


def _written(lines: Sequence[str], block: Block) -> str:
    """The words of a heading as they are written, in one line."""
    first = lines[block.start_line - 1].strip()
    if block.start_line == block.end_line and first.startswith("#"):
        return first.lstrip("#").strip()
    return " ".join(line.strip() for line in lines[block.start_line - 1 : block.end_line - 1])
