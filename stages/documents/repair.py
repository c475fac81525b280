"""The repair of headings by rules: their order of levels, and what is no heading."""

from bisect import bisect_left
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from typing import Final

from schemas.errors import ReplyShapeError
from schemas.settings.run import RunSettings
from schemas.values.base import can_be_stored
from schemas.values.documents import Heading, RepairAction, RepairedTitles, SanitisedDocument, TocEntry
from stages.corpora.blocks import Block, BlockKind, lines_of, read_markdown
from stages.documents.outline import ask_in_parts, heading_lines
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.texts.characters import fenced, listed

DEEPEST = 4
"""The deepest level of a repaired heading."""
LONGEST_TITLE = 500
"""Characters; a heading that is longer is none."""
_BOXES: Final = frozenset(("note", "tip", "hint", "important", "warning", "caution", "attention", "danger"))
"""Titles of boxes within the text of a section."""


def repair_by_rules(headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """The headings, each with its repair.

    A heading without a letter or digit, one that is too long, and one of a box that the table of contents does not have
    (`Note`, `Tip`) are removed. Where the document has a table of contents that half of the headings are in, its levels
    count. No level is left out: a heading is at most one level deeper than the heading around it.
    """
    agreed = [heading for heading in headings if heading.toc_level is not None]
    by_toc = len(agreed) * 2 >= len(headings)
    repaired: list[Heading] = []
    around: list[int] = []
    for heading in headings:
        is_box = heading.toc_level is None and heading.text.casefold().rstrip(":") in _BOXES
        if is_box or not _is_title(heading.text):
            repaired.append(_repaired(heading, RepairAction.REMOVE))
            continue
        wanted = heading.toc_level if by_toc and heading.toc_level is not None else heading.level
        while around and around[-1] >= wanted:
            around.pop()
        around.append(wanted)
        level = min(len(around), DEEPEST)
        action = RepairAction.NO_CHANGE if level == heading.level else RepairAction(f"H{level}")
        repaired.append(_repaired(heading, action))
    return tuple(repaired)


def _is_title(text: str) -> bool:
    return any(map(str.isalnum, text)) and len(text) <= LONGEST_TITLE and can_be_stored(text)


def _repaired(heading: Heading, action: RepairAction, text: str = "") -> Heading:
    """The heading with its repair; without a text it keeps its words."""
    level: int | None = heading.level
    if action is not RepairAction.NO_CHANGE:
        level = None if action is RepairAction.REMOVE else int(action.value[1])
    repair = {"repaired_level": level, "repaired_text": None if level is None else text or heading.text}
    return heading.model_copy(update={"action": action, **repair})


def sanitise(markdown: str, headings: Sequence[Heading], page_lines: Sequence[int]) -> SanitisedDocument:
    """The markdown with its headings repaired. REMOVE leaves the heading out. The others are written at their level,
    with the repaired text, and with the markup of the heading's words where the repair kept these."""
    lines = lines_of(markdown)
    by_line = {heading.line: heading for heading in headings}
    dropped: list[int] = []
    for block in read_markdown(markdown).blocks:
        heading = by_line.get(block.start_line)
        if block.kind is not BlockKind.HEADING or heading is None:
            continue
        covered = range(block.start_line, block.end_line + 1)
        if heading.repaired_level is None:
            dropped += covered
            continue
        written = _written(lines, block) if heading.repaired_text == heading.text else heading.repaired_text
        lines[block.start_line - 1] = f"{'#' * heading.repaired_level} {written}".rstrip()
        dropped += covered[1:]
    gone = set(dropped)
    text = "\n".join(line for number, line in enumerate(lines, start=1) if number not in gone) + "\n"

    def moved(line: int) -> int:
        return line - bisect_left(dropped, line)

    placed = tuple(
        heading.model_copy(update={"work_line": None if heading.repaired_level is None else moved(heading.line)})
        for heading in headings
    )
    content_hash = sha256(text.encode()).hexdigest()
    return SanitisedDocument(
        markdown=text, content_hash=content_hash, page_lines=tuple(map(moved, page_lines)), headings=placed
    )


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
    headings: Sequence[Heading], toc: Sequence[TocEntry], *, template: str, before: Sequence[Heading] = ()
) -> str:
    """The prompt for these headings, also for an external model. `before` are those above them, repaired."""
    written = "\n".join(f"{heading.line} : H{heading.level} : {heading.text}" for heading in headings)
    contents = "\n".join(f"{'  ' * (entry.level - 1)}{entry.title}" for entry in toc)
    above = "\n".join(
        f"{heading.line} : {heading.action} : {heading.repaired_text or heading.text[:LONGEST_TITLE]}"
        for heading in before[-_HEADINGS_BEFORE:]
    )
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
    return RepairedTitles(**dict(decided), headings=tuple(chain(*found)))


def repair_by_reply(raw: str, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """The headings, each with the repair that a reply gives it; one without words leaves its own, and a heading without
    a line keeps the repair that it has. Raises ReplyShapeError as `heading_lines` does, for a heading without a line
    and a repair, and for words that are no title."""
    found = {heading.line: heading for heading in headings}
    for line, (word, text) in heading_lines(raw, words=list(RepairAction), headings=found).items():
        found[line] = _repaired(found[line], RepairAction(word), text)
    if missing := [line for line, heading in found.items() if heading.action is None]:
        raise ReplyShapeError(raw, f"it has no line for the headings {listed(missing)}")
    texts = {line: heading.repaired_text for line, heading in found.items()}
    if unusable := [line for line, text in texts.items() if text is not None and not _is_title(text)]:
        raise ReplyShapeError(
            raw,
            f"the words of the headings {listed(unusable)} are no title: they have no letter or digit, a character "
            f"that no text has, or more than {LONGEST_TITLE} characters",
        )
    return tuple(found.values())
