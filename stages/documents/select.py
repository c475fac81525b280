"""Which sections of a document are embedded: those that somebody would ask about."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from schemas.settings.run import RunSettings
from schemas.statuses import VectorStatus
from schemas.values.documents import CutChunk, DecidedBy, Heading, SelectedSections
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import Section, sections
from stages.documents.outline import ask_in_parts, heading_lines, title_key, without_number
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.texts.characters import fenced

#: Titles of what is found by other means, or by nobody: lists of places, of other works, and of rights.
SKIPPED_TITLES: Final = {
    title: what
    for what, titles in {
        "an index": ("index", "subjectindex", "nameindex", "authorindex"),
        "a bibliography": ("bibliography", "references", "workscited", "furtherreading"),
        "a table of contents": ("contents", "tableofcontents"),
        "a list of figures": ("listoffigures",),
        "a list of tables": ("listoftables",),
        "a copyright page": ("copyright", "copyrightpage", "legalnotice", "colophon"),
        "an advertisement": ("alsobythisauthor",),
    }.items()
    for title in titles
}


def sections_of(markdown: str) -> list[Section]:
    """The sections of a sanitised document. What stands before the first heading is one of the empty title."""
    return sections(read_markdown(markdown), title="")


def select_by_rules(sections: Sequence[Section]) -> dict[int, str]:
    """The sections that are skipped, by their lines, with the reason: by their titles, and those inside them."""
    titles = {section.start_line: section.path[-1] if section.path else "" for section in sections}
    reasons = {line: SKIPPED_TITLES.get(title_key(without_number(title))) for line, title in titles.items()}
    return propagated(sections, {line: reason for line, reason in reasons.items() if reason is not None})


def selected_chunks(chunks: Sequence[CutChunk], skipped: Collection[int]) -> tuple[list[CutChunk], int]:
    """The chunks of all sections, and how many of skipped ones, named by their lines, no longer wait for a vector."""
    kept: list[CutChunk] = []
    left_out = 0
    for chunk in chunks:
        section = chunk if chunk.parent is None else chunks[chunk.parent]
        if chunk.vector_status is VectorStatus.TO_VEC and section.start_line in skipped:
            chunk = chunk.model_copy(update={"vector_status": VectorStatus.NO_VEC})
            left_out += 1
        kept.append(chunk)
    return kept, left_out


def with_selection(headings: Iterable[Heading], skipped: Mapping[int, str]) -> tuple[Heading, ...]:
    """The headings that are in the work, each with what is selected of it, and the others."""
    return tuple(
        heading
        if (line := heading.work_line) is None
        else heading.model_copy(update={"embeds": line not in skipped, "reason": skipped.get(line)})
        for heading in headings
    )


HEADINGS_OF_A_CALL: Final = 200
ACTIONS: Final = ("SKIP", "VECTORIZE")
"""What a reply may make of a section."""
REASONS: Final = {
    DecidedBy.MODEL: "skipped by the model",
    DecidedBy.PASTED: "skipped by the pasted reply",
    DecidedBy.USER: "skipped by hand",
}
"""Why a section is not embedded, by who decided."""


def with_headings(sections: Sequence[Section]) -> list[Section]:
    """The sections that a heading begins; what stands before the first one is always embedded."""
    return [section for section in sections if section.path[:1] != ("",)]


def select_prompt(sections: Sequence[Section], *, template: str) -> str:
    """The prompt for the headings of these sections, also for an external model."""
    written = "\n".join(
        f"{section.start_line} : H{section.level} : {section.path[-1] if section.path else ''}" for section in sections
    )
    return render(template, {"headings": fenced("headings", written)})


async def select_by_model(
    sections: Sequence[Section], *, template: str, chat: ChatModel, settings: RunSettings
) -> SelectedSections:
    """Ask about 200 headings at a time, as `ask_in_parts` does and raising what it raises."""
    found, decided = await ask_in_parts(
        with_headings(sections),
        chat=chat,
        settings=settings,
        most=HEADINGS_OF_A_CALL,
        purpose="select sections",
        prompt=lambda part, _: select_prompt(part, template=template),
        read=lambda raw, part: decisions_of(raw, part, by=DecidedBy.MODEL),
        form=f"lines NUMBER : {'|'.join(ACTIONS)}, one for each heading, and nothing else",
    )
    decisions = dict(chain.from_iterable(part.items() for part in found))
    return SelectedSections(**dict(decided), skipped=propagated(sections, decisions))


def select_by_reply(
    raw: str, sections: Sequence[Section], *, by: DecidedBy, former: Mapping[int, str] | None = None
) -> dict[int, str]:
    """The sections that a reply skips, as `propagated` gives them. Raises ReplyShapeError for one that `heading_lines`
    cannot read."""
    return propagated(sections, decisions_of(raw, with_headings(sections), by=by), former=former)


def decisions_of(raw: str, sections: Sequence[Section], *, by: DecidedBy) -> dict[int, str | None]:
    """Why each section that the reply names is skipped, by its line; None for one that is embedded."""
    found = heading_lines(raw, words=ACTIONS, headings={section.start_line for section in sections})
    return {line: REASONS[by] if word == "SKIP" else None for line, (word, _) in found.items()}


def propagated(
    sections: Sequence[Section], decisions: Mapping[int, str | None], *, former: Mapping[int, str] | None = None
) -> dict[int, str]:
    """The sections that are skipped, by their lines, with the reason. One without a decision is skipped inside a
    skipped one, and embedded elsewhere; but after a `former` selection it stays as it was, unless it is inside a
    section with a decision. Every section around an embedded one is embedded."""
    reasons: list[str | None] = []
    decided: set[int] = set()
    for place, section in enumerate(sections):
        line, around = section.start_line, section.parent
        if line not in decisions and former is not None and around not in decided:
            reasons.append(former.get(line))
            continue
        inherited = None if around is None else reasons[around]
        reasons.append(decisions.get(line, inherited))
        decided.add(place)
    for section, reason in zip(sections, [*reasons], strict=True):
        around = section.parent
        while reason is None and around is not None:
            reasons[around] = None
            around = sections[around].parent
    return {section.start_line: why for section, why in zip(sections, reasons, strict=True) if why is not None}
