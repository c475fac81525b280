"""The repair of headings by rules: their order of levels, and what is no heading."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from typing import Final

from schemas.errors import ReplyShapeError
from schemas.settings.run import RunSettings
from schemas.values.documents import Heading, Repair, RepairAction, RepairedTitles, TocEntry
from stages.corpora.blocks import Block, BlockKind, lines_of, read_markdown
from stages.documents.outline import ask_in_parts, heading_lines
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.texts.characters import can_be_stored, fenced, listed

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
    """The markdown with its headings repaired, and the line at which each page begins there. REMOVE leaves the heading
    out. H1 to H4 write it at that level, NO_CHANGE at its own; both with the repair's text, and with the markup of the
    heading's words where these are the repair's."""
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
        written = _written(lines, block) if " ".join(block.text.split()) == repair.text else repair.text
        lines[block.start_line - 1] = f"{'#' * repair.level(block.level)} {written}".rstrip()
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


HEADINGS_OF_A_CALL: Final = 100
_HEADINGS_BEFORE: Final = 20
"""Repaired headings that the next call shows, so that levels go on as they were."""
_CONTENTS_CHARS: Final = 20_000
_NONE: Final = "There are none."


def repair_prompt(
    headings: Sequence[Heading], toc: Sequence[TocEntry], *, template: str, before: Sequence[Repair] = ()
) -> str:
    """The prompt for these headings, also for an external model. `before` are the repairs of those above them."""
    written = "\n".join(f"{heading.line} : H{heading.level} : {heading.text}" for heading in headings)
    contents = "\n".join(f"{'  ' * (entry.level - 1)}{entry.title}" for entry in toc)
    above = "\n".join(f"{repair.line} : {repair.action} : {repair.text}" for repair in before[-_HEADINGS_BEFORE:])
    values = {
        "headings": fenced("headings", written),
        "contents": fenced("contents", contents, max_chars=_CONTENTS_CHARS) if contents else _NONE,
        "before": fenced("before", above) if above else _NONE,
    }
    return render(template, values)


async def repair_by_model(
    headings: Sequence[Heading], toc: Sequence[TocEntry], *, template: str, chat: ChatModel, settings: RunSettings
) -> RepairedTitles:
    """Ask about 100 headings at a time, as `ask_in_parts` does and raising what it raises."""
    found, decided = await ask_in_parts(
        headings,
        chat=chat,
        settings=settings,
        most=HEADINGS_OF_A_CALL,
        purpose="repair headings",
        prompt=lambda part, read: repair_prompt(part, toc, template=template, before=[*chain(*read)]),
        read=repair_by_reply,
        form=f"one line for each heading, NUMBER : {'|'.join(RepairAction)} : TEXT, and nothing else",
    )
    return RepairedTitles(**dict(decided), repairs=tuple(chain(*found)))


def repair_by_reply(raw: str, headings: Sequence[Heading], former: Sequence[Repair] = ()) -> tuple[Repair, ...]:
    """The repair that a reply gives each heading; one without words leaves its own, one without a line the former one.
    Raises ReplyShapeError as `heading_lines` does, for a heading without a line and a former repair, and for words that
    are no title."""
    texts = {heading.line: heading.text for heading in headings}
    found = {repair.line: repair for repair in former}
    for line, words in heading_lines(raw, words=list(RepairAction), headings=texts).items():
        found[line] = _repair(line, texts[line], *words)
    if missing := [line for line in texts if line not in found]:
        raise ReplyShapeError(raw, f"it has no line for the headings {listed(missing)}")
    if unusable := [line for line in texts if not _is_usable(found[line])]:
        raise ReplyShapeError(
            raw,
            f"the words of the headings {listed(unusable)} are no title: they have no letter or digit, a character "
            f"that no text has, or more than {LONGEST_TITLE} characters",
        )
    return tuple(found[line] for line in texts)


def _is_usable(repair: Repair) -> bool:
    """Whether what is left of a heading is a title."""
    text = repair.text
    is_title = any(map(str.isalnum, text)) and len(text) <= LONGEST_TITLE and can_be_stored(text)
    return repair.action is RepairAction.REMOVE or is_title


def _repair(line: int, own: str, word: str, text: str) -> Repair:
    action = RepairAction(word)
    words = own[:LONGEST_TITLE] if action is RepairAction.REMOVE else " ".join(text.split()) or own
    return Repair(line=line, action=action, text=words)
