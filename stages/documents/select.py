"""Which sections of a document are embedded: those that somebody would ask about."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from schemas.values.documents import Selection
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import Section, sections
from stages.documents.outline import title_key, without_number

#: Titles of what is found by other means, or by nobody: lists of places, of other works, and of rights.
SKIPPED_TITLES: Final = {
    "index": "an index",
    "subjectindex": "an index",
    "nameindex": "an index",
    "authorindex": "an index",
    "bibliography": "a bibliography",
    "references": "a bibliography",
    "workscited": "a bibliography",
    "furtherreading": "a bibliography",
    "contents": "a table of contents",
    "tableofcontents": "a table of contents",
    "listoffigures": "a list of figures",
    "listoftables": "a list of tables",
    "copyright": "a copyright page",
    "copyrightpage": "a copyright page",
    "legalnotice": "a copyright page",
    "colophon": "a copyright page",
    "alsobythisauthor": "an advertisement",
}


def sections_of(markdown: str) -> list[Section]:
    """The sections of a sanitised document. What stands before the first heading is one of the empty title."""
    return sections(read_markdown(markdown), title="")


def select_by_rules(found: Sequence[Section]) -> tuple[Selection, ...]:
    """A selection for each section, in order: by its title. A section inside a skipped one is skipped too."""
    reasons: list[str | None] = []
    for section in found:
        around = None if section.parent is None else reasons[section.parent]
        title = section.path[-1] if section.path else ""
        reasons.append(around or SKIPPED_TITLES.get(title_key(without_number(title))))
    return tuple(
        Selection(line=section.start_line, embeds=reason is None, reason=reason)
        for section, reason in zip(found, reasons, strict=True)
    )


class SelectedChunks(NamedTuple):
    """Chunks, in their order."""

    chunks: list[CutChunk]
    skipped: int
    """Those that would have been embedded."""


def selected_chunks(chunks: Sequence[CutChunk], selections: Sequence[Selection]) -> SelectedChunks:
    """The chunks of all sections; of those that are not selected, none waits for a vector."""
    skipped_lines = {selection.line for selection in selections if not selection.embeds}
    kept: list[CutChunk] = []
    skipped = 0
    for chunk in chunks:
        section = chunk if chunk.parent is None else chunks[chunk.parent]
        if chunk.vector_status is VectorStatus.TO_VEC and section.start_line in skipped_lines:
            chunk = chunk.model_copy(update={"vector_status": VectorStatus.NO_VEC})
            skipped += 1
        kept.append(chunk)
    return SelectedChunks(kept, skipped)
