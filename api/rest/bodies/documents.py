"""Documents that works are made from, as JSON."""

from typing import Annotated

from pydantic import Field

from api.parameters import MAX_ID, Text
from api.rest.bodies.base import Body, Reply, SettingsByName, WithSettings, with_example
from schemas.statuses import JobStatus, StageStatus
from schemas.values.documents import DecidedBy, RepairAction, SelectionAction
from stages.documents.outline import MOST_CHARS

#: Changes of one request; more headings are decided by a reply.
MAX_CHANGES = 1000

Line = Annotated[int, Field(ge=1, le=MAX_ID, examples=[12])]
ReplyText = Annotated[Text, Field(min_length=1, max_length=MOST_CHARS, repr=False)]


class TocEntryReply(Reply):
    """An entry of a document's own table of contents."""

    level: int = Field(examples=[2])
    title: str = Field(examples=["Oxidation"])
    page: int | None = Field(examples=[31])


class OutlineHeadingReply(Reply):
    """A heading of a document, and what became of it."""

    line: int = Field(examples=[12])
    """Of the converted markdown, from 1; names the heading in a repair."""
    level: int = Field(examples=[3])
    text: str = Field(examples=["2.1 Oxidation"])
    page: int | None = Field(examples=[31])
    """Null in formats without pages."""
    toc_level: int | None = Field(examples=[2])
    """The level in the document's own table of contents; null where it has no such entry."""
    disagrees: bool
    """The table of contents gives it another level than the document has in the end."""
    action: RepairAction | None = Field(examples=["H2"])
    """What stage `repair` did; null before that is stored."""
    repaired_level: int | None = Field(examples=[2])
    """The level in the work; null for a heading that is removed."""
    repaired_text: str | None = Field(examples=["2.1 Oxidation"])
    work_line: int | None = Field(examples=[12])
    """Its line in the work; names the heading in a selection."""
    embeds: bool | None
    """Whether its section is embedded; null before that is selected, and for a heading that is removed."""
    reason: str | None = Field(examples=["an index"])
    """Why its section is skipped."""


class CleanedReply(Reply):
    """What was removed, joined or not found on the way to markdown."""

    running_lines: int = Field(examples=[120])
    contents_lines: int = Field(examples=[30])
    hyphenations: int = Field(examples=[44])
    pages_without_text: tuple[int, ...] = Field(examples=[(3,)])
    """Pages of a PDF that are blank or a picture alone."""
    objects: int = Field(examples=[0])
    """Embedded objects of an ODT, such as charts, that were left out."""


class DocumentReply(Reply):
    """A document: its job, what the stages found, and its headings."""

    job_id: int | None = Field(examples=[34])
    """Null for a work that no stored job made; its headings are those of the stored markdown."""
    run_id: int | None = Field(examples=[12])
    status: JobStatus | None = Field(examples=["succeeded"])
    stages: dict[str, StageStatus] = Field(examples=[{"convert": "done", "outline": "done"}])
    """The status of each stage, in the order of the chain."""
    work_id: int | None = Field(examples=[7])
    """Null before the document is a work, and when the work was made from another file since."""
    title: str | None = Field(examples=["On Tea"])
    corpus: str | None = Field(examples=["default"])
    name: str | None = Field(examples=["tea.pdf"])
    """The name of the file."""
    format: str | None = Field(examples=["pdf"])
    converter: str | None = Field(examples=["pypdfium2 5.1.0"])
    variant: str | None = Field(examples=["outline"])
    """How its headings were found: by the document's `outline`, by the `style` of its fonts, or in the `document`."""
    reason: str | None = Field(examples=["the document has its own headings"])
    """Why they were found so."""
    pages: int | None = Field(examples=[310])
    cleaned: CleanedReply | None
    repaired_by: DecidedBy | None = Field(examples=["rules"])
    selected_by: DecidedBy | None = Field(examples=["rules"])
    model: str | None = Field(examples=[None])
    """The model that decided, where one did."""
    changed: int = Field(examples=[4])
    """Headings that stage `repair` did not leave as they were."""
    skipped: int = Field(examples=[2])
    """Headings whose sections are not embedded."""
    disagreements: int = Field(examples=[1])
    """Headings of another level than in the table of contents, and entries of it without a heading."""
    headings: list[OutlineHeadingReply]
    missing: list[TocEntryReply]
    """Entries of the table of contents that no heading has."""


class DocumentMarkdownReply(Reply):
    """The markdown of a document."""

    job_id: int = Field(examples=[34])
    markdown: str = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])


class DocumentPromptReply(Reply):
    """A prompt for any model."""

    job_id: int = Field(examples=[34])
    prompt: str = Field(repr=False, examples=["A document was converted, and these headings were found in it."])


class PastedBody(Body):
    """The reply of an external model: a line for each heading."""

    model_config = with_example(reply="12 : H2 : Oxidation\n40 : REMOVE : Page 31")

    reply: ReplyText


class RepairChange(Body):
    """What becomes of a heading."""

    line: Line
    """Of the converted markdown."""
    action: Annotated[RepairAction, Field(strict=False)]
    text: Annotated[Text, Field(max_length=1000)] | None = None
    """Other words; null keeps those it has."""


class RepairChangesBody(Body):
    """What becomes of single headings."""

    model_config = with_example(changes=[{"line": 12, "action": "H2"}])

    changes: Annotated[list[RepairChange], Field(min_length=1, max_length=MAX_CHANGES)]


class SelectionChange(Body):
    """Whether a section is embedded."""

    line: Line
    """Of its heading in the work."""
    action: Annotated[SelectionAction, Field(strict=False)]


class SelectionChangesBody(Body):
    """Whether single sections are embedded."""

    model_config = with_example(changes=[{"line": 12, "action": "SKIP"}])

    changes: Annotated[list[SelectionChange], Field(min_length=1, max_length=MAX_CHANGES)]


class EditedReply(Reply):
    """A job that continues after an edit."""

    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["repair"])
    changed: int = Field(examples=[4])
    """Headings that are not left as they are, or headings whose sections are skipped."""


class AgainBody(WithSettings):
    """With which settings stages are computed again."""

    model_config = with_example(settings={})

    settings: SettingsByName = Field(default={})
    """Other values of settings, which make a run of its own."""


class AgainReply(Reply):
    """What computes stages again."""

    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["convert"])
    run_id: int | None = Field(examples=[None])
    """The run that was made for other values; null when the job itself continues."""
