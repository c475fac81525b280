"""The repair of headings by a reply, of a model or pasted, and by changes of single headings."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from schemas.errors import HeadingReplyError
from schemas.values.chat import ReaskReason
from schemas.values.documents import DecidedBy, Heading, Repair, RepairAction, RepairedTitles, TocEntry
from stages.documents.outline import Asking, ask_in_parts, heading_lines
from stages.documents.repair import LONGEST_TITLE
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.texts.characters import can_be_stored
from stages.texts.ids import listed
from stages.texts.markdown import fenced

HEADINGS_OF_A_CALL: Final = 100
_HEADINGS_BEFORE: Final = 20
"""Repaired headings that the next call shows, so that levels go on as they were."""
_CONTENTS_CHARS: Final = 20_000
_NONE: Final = "There are none."


class Change(NamedTuple):
    """What a heading is changed to."""

    action: RepairAction
    text: str | None = None
    """None keeps the words."""


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
    headings: Sequence[Heading], toc: Sequence[TocEntry], asking: Asking, *, chat: ChatModel
) -> RepairedTitles:
    """Ask about 100 headings at a time, as `ask_in_parts` does and raising what it raises."""
    repairs: list[Repair] = []
    reasks: list[ReaskReason] = []
    async for usable in ask_in_parts(
        headings,
        asking,
        chat=chat,
        most=HEADINGS_OF_A_CALL,
        purpose="repair headings",
        prompt=lambda part: repair_prompt(part, toc, template=asking.template, before=repairs),
        read=lambda part: partial(repair_by_reply, headings=part),
        form=f"one line for each heading, NUMBER : {'|'.join(RepairAction)} : TEXT, and nothing else",
    ):
        repairs.extend(usable.read)
        reasks += usable.reasks
    return RepairedTitles(repairs=tuple(repairs), by=DecidedBy.MODEL, model=asking.model, reasks=tuple(reasks))


def repair_by_reply(raw: str, headings: Sequence[Heading]) -> tuple[Repair, ...]:
    """The repair that a reply gives each heading; one without words leaves the heading's own.

    Raises HeadingReplyError for a reply that `heading_lines` cannot read, that leaves a heading out, or that gives one
    words that are no title.
    """
    found = heading_lines(raw, words=list(RepairAction), headings={heading.line for heading in headings})
    missing = [heading.line for heading in headings if heading.line not in found]
    if missing:
        raise HeadingReplyError(raw, f"it has no line for the headings {listed(missing)}")
    repairs = tuple(
        _repair(heading.line, heading.text, RepairAction(found[heading.line].word), found[heading.line].text)
        for heading in headings
    )
    unusable = [repair.line for repair in repairs if not is_usable(repair)]
    if unusable:
        raise HeadingReplyError(
            raw,
            f"the words of the headings {listed(unusable)} are no title: they have no letter or digit, a character "
            f"that no text has, or more than {LONGEST_TITLE} characters",
        )
    return repairs


def changed_repairs(repairs: Sequence[Repair], changes: Mapping[int, Change]) -> tuple[Repair, ...]:
    """The repairs, and for the lines of the changes those instead."""
    return tuple(
        _repair(repair.line, repair.text, *changes[repair.line]) if repair.line in changes else repair
        for repair in repairs
    )


def is_usable(repair: Repair) -> bool:
    """Whether what is left of a heading is a title."""
    if repair.action is RepairAction.REMOVE:
        return True
    text = repair.text
    return any(map(str.isalnum, text)) and len(text) <= LONGEST_TITLE and can_be_stored(text)


def _repair(line: int, own: str, action: RepairAction, text: str | None) -> Repair:
    words = " ".join((text or "").split()) or own
    if action is RepairAction.REMOVE:
        words = own[:LONGEST_TITLE]
    return Repair(line=line, action=action, text=words)
