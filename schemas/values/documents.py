"""What the stages of a document store, from its file to its chunks."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value
from schemas.values.chat import ReaskReason


class TocEntry(Value):
    """An entry of a document's own table of contents."""

    level: int
    """From 1."""
    title: str
    page: int | None = None
    """From 1; None in formats without pages."""


class Cleaned(Value):
    """What was removed, joined or not found on the way to markdown."""

    running_lines: int = 0
    """Headers, footers and page numbers that were left out."""
    contents_lines: int = 0
    """Lines of a printed table of contents that were left out."""
    hyphenations: int = 0
    """Words that were divided at the end of a line and are joined."""
    pages_without_text: tuple[int, ...] = ()
    """Pages of a PDF that gave no text, from 1: blank, or a picture alone."""
    objects: int = 0
    """Embedded objects of an ODT, such as charts, that were left out; formulas are read."""


class Variant(Value):
    """The markdown of a document, by one way of finding its headings."""

    name: str
    """`outline` for the document's own table of contents, `style` for sizes and weights of its fonts; `document`
    where the format has headings."""
    markdown: str = Field(repr=False)
    page_lines: tuple[int, ...] = ()
    """The line, from 1, at which each page begins; empty in formats without pages."""


class ConvertedDocument(Value):
    """Stage `convert`: a document as markdown."""

    format: str
    converter: str
    """Its name and version."""
    variants: tuple[Variant, ...]
    """The chosen one first."""
    reason: str
    """Why the first was chosen."""
    toc: tuple[TocEntry, ...] = ()
    pages: int | None = None
    cleaned: Cleaned = Cleaned()
    title: str | None = None
    """Of the document's own metadata."""
    authors: str | None = None

    @property
    def chosen(self) -> Variant:
        """The variant that becomes the work."""
        return self.variants[0]


class Heading(Value):
    """A heading of a document."""

    line: int
    """Of the converted markdown, from 1."""
    level: int
    text: str = Field(repr=False)
    toc_level: int | None = None
    """The level that the table of contents gives it; None where it has no such entry."""


class DocumentOutline(Value):
    """Stage `outline`: the headings, beside the document's own table of contents."""

    headings: tuple[Heading, ...]
    missing: tuple[TocEntry, ...] = ()
    """Entries of the table of contents that no heading has."""

    @property
    def disagreements(self) -> int:
        """Headings of another level than in the table of contents, and entries without a heading."""
        return len(self.missing) + sum(
            heading.toc_level is not None and heading.toc_level != heading.level for heading in self.headings
        )


class DecidedBy(StrEnum):
    """Who decided about the headings of a document."""

    RULES = "rules"
    MODEL = "model"
    PASTED = "pasted"
    """A reply of an external model, or a list that somebody wrote."""
    USER = "user"
    """Somebody changed single headings of what was decided before."""


class RepairAction(StrEnum):
    """What becomes of a heading."""

    NO_CHANGE = "NO_CHANGE"
    REMOVE = "REMOVE"
    H1 = "H1"
    H2 = "H2"
    H3 = "H3"
    H4 = "H4"


class Repair(Value):
    """What becomes of the heading at a line."""

    line: int
    action: RepairAction
    text: str = Field(repr=False)


class RepairedTitles(Value):
    """Stage `repair`: one repair for each heading, in the order of the lines."""

    repairs: tuple[Repair, ...]
    by: DecidedBy
    model: str | None = None
    """The model that was asked; None where none was."""
    reasks: tuple[ReaskReason, ...] = ()

    @property
    def changed(self) -> int:
        """Headings that are not left as they are."""
        return sum(repair.action is not RepairAction.NO_CHANGE for repair in self.repairs)


class SanitisedDocument(Value):
    """Stage `sanitise`: the markdown that becomes the work."""

    markdown: str = Field(repr=False)
    content_hash: str
    page_lines: tuple[int, ...] = ()


class SelectionAction(StrEnum):
    """What becomes of a section."""

    SKIP = "SKIP"
    VECTORIZE = "VECTORIZE"


class Selection(Value):
    """Whether the section of a heading is embedded."""

    line: int
    """Of the sanitised markdown, from 1."""
    embeds: bool
    reason: str | None = None
    """Why it is skipped; None where it is not."""


class SelectedSections(Value):
    """Stage `select`: one selection for each section, in the order of the lines."""

    selections: tuple[Selection, ...]
    by: DecidedBy
    model: str | None = None
    """The model that was asked; None where none was."""
    reasks: tuple[ReaskReason, ...] = ()

    @property
    def skipped(self) -> int:
        """Headings whose sections are not embedded."""
        return sum(not selection.embeds for selection in self.selections)


class CutDocument(Value):
    """Stage `cut`: the work that was stored, and its chunks that are to be embedded."""

    work_id: int
    title: str
    outcome: str
    """`new`, `replaced` or `unchanged`."""
    chunk_ids: tuple[int, ...]
    skipped_chunks: int
    """Chunks of sections that are not embedded."""
