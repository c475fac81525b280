"""Repairs applied to the markdown of a document."""

from bisect import bisect_left
from collections.abc import Sequence

from schemas.values.documents import Repair, RepairAction
from stages.corpora.blocks import Block, BlockKind, read_markdown
from stages.corpora.lines import lines_of


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
