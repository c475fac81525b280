"""Documents: what their stages store, from a file to chunks, and corpora and works as they are shown."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, StringConstraints, computed_field, model_validator

from schemas.statuses import JobStatus, VectorStatus
from schemas.values.base import Embedded, Text, Value, whole
from schemas.values.chat import ReaskReason


class TocEntry(Value):
    """An entry of a document's own table of contents."""

    level: int = Field(examples=[2])
    """From 1."""
    title: str = Field(examples=["Oxidation"])
    page: int | None = Field(default=None, examples=[31])
    """From 1; null in formats without pages."""


class ConvertedDocument(Value):
    """Stage `convert`: a document as markdown."""

    format: str
    converter: str
    """Its name and version."""
    markdown: str = Field(repr=False)
    page_lines: tuple[int, ...] = ()
    """The line, from 1, at which each page begins; empty in formats without pages."""
    headings_by: str
    """What its headings were found by, and why so."""
    toc: tuple[TocEntry, ...] = ()
    pages: int | None = None
    left_out_lines: int = 0
    """Headers, footers, page numbers and a printed table of contents, which the markdown has not."""
    pages_without_text: tuple[int, ...] = ()
    """Pages of a PDF that gave no text, from 1: blank, or a picture alone."""
    title: str | None = None
    """Of the document's own metadata."""
    authors: str | None = None


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


class Heading(Value):
    """A heading of a document, and what became of it so far."""

    line: int = Field(examples=[12])
    """Of the converted markdown, from 1; names the heading in a repair."""
    level: int = Field(examples=[3])
    text: str = Field(repr=False, examples=["2.1 Oxidation"])
    toc_level: int | None = Field(default=None, examples=[2])
    """The level in the document's own table of contents; null where it has no such entry."""
    page: int | None = Field(default=None, examples=[31])
    """From 1; null in formats without pages."""
    action: RepairAction | None = Field(default=None, examples=["H2"])
    """What stage `repair` did; null before that is stored."""
    repaired_level: int | None = Field(default=None, examples=[2])
    """The level in the work; null for a heading that is removed, and before it is repaired."""
    repaired_text: str | None = Field(default=None, repr=False, examples=["2.1 Oxidation"])
    """The words in the work, likewise."""
    work_line: int | None = Field(default=None, examples=[12])
    """Its line in the sanitised markdown, once that is stored; names the heading in a selection."""
    embeds: bool | None = None
    """Whether its section is embedded; null before that is selected, and for a heading that is removed."""
    reason: str | None = Field(default=None, examples=["an index"])
    """Why its section is skipped."""

    @property
    def disagrees(self) -> bool:
        """The table of contents gives it another level than the document has in the end."""
        return self.toc_level not in (None, self.repaired_level or self.level)


class DocumentOutline(Value):
    """Stage `outline`: the headings, beside the document's own table of contents."""

    headings: tuple[Heading, ...]
    missing: tuple[TocEntry, ...] = ()
    """Entries of the table of contents that no heading has."""


class DecidedHeadings(Value):
    """Who decided about the headings of a document."""

    by: DecidedBy
    model: str | None = None
    """The model that was asked; None where none was."""
    reasks: tuple[ReaskReason, ...] = ()


class RepairedTitles(DecidedHeadings):
    """Stage `repair`: the headings, each with its repair."""

    headings: tuple[Heading, ...]


class SanitisedDocument(Value):
    """Stage `sanitise`: the markdown that becomes the work."""

    markdown: str = Field(repr=False)
    content_hash: str
    page_lines: tuple[int, ...] = ()
    headings: tuple[Heading, ...]
    """With their lines in it."""


class SelectedSections(DecidedHeadings):
    """Stage `select`: the sections that are not embedded."""

    skipped: dict[int, str]
    """Why, by the lines of their headings in the sanitised markdown."""


class CutDocument(Value):
    """Stage `cut`: the work that was stored, and its chunks that are to be embedded."""

    work_id: int
    title: str
    outcome: str
    """`new`, `replaced` or `unchanged`."""
    chunk_ids: tuple[int, ...]
    skipped_chunks: int
    """Chunks of sections that are not embedded."""


_SIGNS: Final = {"author": "author=", "title": "title=", "tag": "tag=", "year_from": "year>=", "year_to": "year<="}


def conditions_of(given: Mapping[str, str | int]) -> list[str]:
    """The given fields of a `WorkFilter` as conditions that make it.

    >>> conditions_of({"tag": "green tea", "year_to": 2001, "year_from": 2001})
    ['tag=green tea', 'year>=2001', 'year<=2001']
    """
    return [f"{sign}{given[name]}" for name, sign in _SIGNS.items() if name in given]


_Part = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
_Year = Annotated[int, BeforeValidator(whole), Field(ge=-9999, le=9999, strict=True)]


class WorkFilter(Value):
    """What a work must have to be searched; every field that is given. Letters of any case are equal."""

    author: _Part | None = Field(default=None, repr=False, examples=["Leaf"])
    """A part of its authors."""
    title: _Part | None = Field(default=None, repr=False, examples=["tea"])
    """A part of its title."""
    tag: _Part | None = Field(default=None, repr=False, examples=["green tea"])
    """One of its tags, whole."""
    year_from: _Year | None = Field(default=None, examples=[2001])
    """The first year, inclusive; a work without a year has none."""
    year_to: _Year | None = Field(default=None, examples=[2019])
    """The last year, inclusive."""

    @model_validator(mode="after")
    def _years_in_order(self) -> Self:
        if self.year_from is not None and self.year_to is not None and self.year_from > self.year_to:
            raise ValueError(f"no year is from {self.year_from} to {self.year_to}")
        return self

    @property
    def given(self) -> dict[str, str | int]:
        """The fields that are given."""
        return self.model_dump(exclude_none=True)

    def __str__(self) -> str:
        return ", ".join(conditions_of(self.given))


class Bibliography(Value):
    """Bibliographic fields of a work. Only the title is required."""

    title: str = Field(examples=["On Tea"])
    authors: str | None = Field(default=None, examples=["A. Leaf"])
    year: int | None = Field(default=None, ge=-9999, le=9999, examples=[2019])
    publisher: str | None = Field(default=None, examples=["Pot Press"])
    isbn: str | None = Field(default=None, examples=["0306406152"])
    doi: str | None = Field(default=None, examples=["10.1000/182"])
    edition: str | None = Field(default=None, examples=["2"])
    volume: str | None = Field(default=None, examples=["1"])
    issue: str | None = Field(default=None, examples=["3"])
    pages: str | None = Field(default=None, examples=["10-20"])
    url: str | None = Field(default=None, examples=["https://example.org/tea"])
    city: str | None = Field(default=None, examples=["Kyoto"])
    institution: str | None = Field(default=None, examples=["Tea Institute"])
    editor: str | None = Field(default=None, examples=["B. Pot"])
    abstract: str | None = Field(default=None, examples=["What happens in the leaf."])
    work_type: str | None = Field(default=None, examples=["book"])
    tags: str | None = Field(default=None, examples=["green tea, history"])
    """With commas between."""


class WorkLines(Value):
    """Lines of a work, where they stand in it."""

    level: str = Field(examples=["H2-chunk"])
    """`H1` to `H5` for a heading chunk; `H2-chunk` for content under a heading of level 2."""
    content: str = Field(repr=False, examples=["After picking, the leaves are rolled."])
    heading_breadcrumbs: str | None = Field(repr=False, examples=["Tea > Oxidation"])
    """The path of headings, joined by ` > `."""
    start_line: int = Field(examples=[9])
    """1-based line of the work's stored markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""


class CorpusChunk(WorkLines):
    """A stored chunk of a work."""

    id: int = Field(examples=[7])
    work_id: int = Field(examples=[7])
    parent_id: int | None = Field(examples=[11])
    """The heading chunk of the nearest section around it."""
    vector_status: VectorStatus = Field(default=VectorStatus.VEC, examples=["vec"])
    """`vec` can be found, `to_vec` waits for its vector, `vec_err` failed, `tbl` and `fig` are not embedded."""
    is_cut: bool = False
    """The text is longer than the embedder reads: the vector has only its beginning."""

    @computed_field(examples=[143])  # type: ignore[prop-decorator]
    @property
    def words(self) -> int:
        """Words with spaces between them."""
        return len(self.content.split())


class CutChunk(WorkLines):
    """A chunk of a work after cutting, before it has an id."""

    parent: int | None
    """Index, in its list, of the heading chunk around it; parents are before their children."""
    vector_status: VectorStatus
    tokens: int | None = None
    """What will be embedded of it, as the embedder counts; None if that is not known."""


class EmbeddedBatch(Embedded):
    """Stage `embed` of a corpus: the chunks."""

    chunk_ids: tuple[int, ...]
    gone: int
    """Chunks of the batch that were replaced before they were embedded; their successors are in another batch."""
    cut_chunk_ids: tuple[int, ...] = ()
    """Those that were cut."""


class PublishedBatch(Value):
    """Stage `publish`: the chunks of a corpus that are now searchable, or of an index, which the last job publishes."""

    chunks: int
    corpus_id: int | None = None


class StoredCorpus(Value):
    """A corpus as it is stored."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["default"])
    copy_of_id: int | None = Field(default=None, examples=[None])
    """The corpus whose works it has, embedded by another model; null for a corpus of its own."""
    has_old_vectors: bool = False
    """A copy that has given its vectors to its corpus, and has those of it."""
    backend: str = Field(examples=["huggingface"])
    model: str = Field(examples=["sentence-transformers/all-MiniLM-L6-v2"])
    model_digest: str | None = Field(examples=["53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"])
    """The weights of the model; null until the first batch is embedded."""
    model_dtypes: list[str] = Field(examples=[["bfloat16"]])
    """The number formats of the vectors; none is known of those that were embedded before formats were kept."""
    dimension: int = Field(examples=[384])
    embeds_headings: bool
    """Chunks are embedded under the headings above them."""
    chunk_tokens: int = Field(examples=[192])
    """The most tokens of a chunk with its headings; 0 if chunks are sized by words."""
    reads_tokens: int | None = Field(examples=[256])
    """The most tokens of a text that the embedder reads; null if that is not known."""
    language: str | None = Field(examples=["english"])
    """By which its sentences are split; null until the first work is stored."""
    full_text: str | None = Field(examples=["english"])
    """The text search configuration of Postgres by which its chunks and the questions to it are read; `simple` has no
    dictionary."""
    searchable_chunks: int = Field(exclude=True)
    """Chunks that have a vector and postings; kept with them in one transaction."""
    created_at: datetime

    @property
    def embedder(self) -> dict[str, str | int]:
        """What its texts are embedded by, by the names of the settings."""
        return {
            "EMBEDDING_BACKEND": self.backend,
            "MODEL_EMBEDDING_MODEL": self.model,
            "EMBEDDING_DIMENSION": self.dimension,
        }


class CorpusView(StoredCorpus):
    """A corpus and what is in it, in numbers."""

    works: int = Field(examples=[12])
    sections: int = Field(examples=[96])
    """Headings, each with all lines of its section; they are not searched."""
    searchable: int = Field(examples=[2])
    """Content chunks that can be found."""
    waiting: int = Field(examples=[3])
    """Content chunks without a vector."""
    failed: int = Field(examples=[0])
    """Those of them whose job failed; `ragq retry` or the next import brings them."""
    tables: int = Field(examples=[4])
    """Stored, not embedded."""
    figures: int = Field(examples=[2])
    """Stored, not embedded."""
    cut: int = Field(examples=[1])
    """Chunks that are longer than the embedder reads: the vector has only their beginning. Of those that wait for it,
    the ones whose tokens were counted."""
    has_vector_index: bool
    """False for a corpus that every search scans whole."""
    questions: int = Field(examples=[5])
    """Questions that were asked of it, and are deleted with it."""
    answers: int = Field(examples=[8])

    @property
    def chunks(self) -> int:
        """All content chunks; sections have no text of their own."""
        return self.searchable + self.waiting + self.tables + self.figures


class WorkHeading(Value):
    """A section of a work."""

    id: int = Field(examples=[7])
    """Also a chunk, and the `parent_id` of what is in the section."""
    parent_id: int | None = Field(examples=[11])
    level: int = Field(ge=1, le=5, examples=[2])
    text: str = Field(examples=["Oxidation"])
    """The heading's own words; empty where it has none."""
    start_line: int = Field(examples=[9])
    """1-based line of the work's markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""
    chunks: int = Field(examples=[2])
    """Content chunks of the section itself, without deeper sections."""


class WorkView(Bibliography):
    """A work without its text."""

    id: int = Field(examples=[7])
    corpus_id: int = Field(examples=[1])
    corpus: str = Field(examples=["default"])
    source_path: str = Field(examples=["tea.md"])
    content_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the stored markdown."""
    original_hash: str | None = Field(examples=[None])
    """SHA-256 of the file that it was converted from; null for one of markdown."""
    page_lines: tuple[int, ...] = Field(exclude=True)
    """The line at which each page begins; empty for a work without pages."""
    lines: int = Field(examples=[15])
    """Lines of the markdown, up to the last that is in a section."""
    chunks: int = Field(examples=[2])
    """Content chunks that are searched or wait for it."""
    searchable: int = Field(examples=[2])
    """Those of them that can be found."""
    created_at: datetime
    updated_at: datetime
    job_id: int | None = Field(examples=[34])
    """The job that made it what it is; null for a work that went through no stages."""
    headings: tuple[WorkHeading, ...] = ()
    """The sections in the order of lines, sections before those inside them; none in a list of works."""


class DocumentView(Value):
    """A document on its way to a work: its job, what the stages found, and its headings."""

    job_id: int | None = Field(default=None, examples=[34])
    """Null for a work that no stored job made; its headings are those of the stored markdown."""
    name: str | None = Field(default=None, repr=False, examples=["tea.pdf"])
    """The name of its file."""
    corpus: str | None = Field(default=None, examples=["default"])
    """Null when it is deleted."""
    size: int | None = Field(default=None, examples=[310_000])
    """Bytes; null when the file is no longer stored."""
    format: str | None = Field(default=None, examples=["pdf"])
    """Found by its content; null before it is converted, like the number of pages."""
    pages: int | None = Field(default=None, examples=[310])
    work_id: int | None = Field(default=None, examples=[7])
    """Null before the document is a work, and when the work was made from another file since."""
    title: str | None = Field(default=None, repr=False, examples=["On Tea"])
    chunks: int | None = Field(default=None, examples=[940])
    """Chunks that were to be embedded."""
    skipped_chunks: int | None = Field(default=None, examples=[12])
    run_id: int | None = Field(default=None, examples=[12])
    status: JobStatus | None = Field(default=None, examples=["succeeded"])
    converter: str | None = Field(default=None, examples=["pypdfium2 5.1.0"])
    headings_by: str | None = Field(default=None, examples=["document: it has its own headings"])
    """What they were found by, and why: by the `outline` of a PDF, the `style` of its fonts, or in the `document`."""
    left_out_lines: int | None = Field(default=None, examples=[150])
    """Headers, footers, page numbers and a printed table of contents, which the markdown has not."""
    pages_without_text: tuple[int, ...] | None = Field(default=None, examples=[(3,)])
    """Pages of a PDF that gave no text, from 1: blank, or a picture alone."""
    repaired_by: DecidedBy | None = Field(default=None, examples=["rules"])
    selected_by: DecidedBy | None = Field(default=None, examples=["rules"])
    model: str | None = None
    """The model that decided, where one did."""
    headings: tuple[Heading, ...] = ()
    missing: tuple[TocEntry, ...] = ()
    """Entries of the table of contents that no heading has."""
    prompt: str | None = Field(default=None, repr=False)
    """What any model is asked about the headings; null unless it is asked for."""
    changed: int = Field(default=0, examples=[4])
    """Headings that stage `repair` did not leave as they were."""
    skipped: int = Field(default=0, examples=[2])
    """Headings whose sections are not embedded."""
    disagreements: int = Field(default=0, examples=[1])
    """Headings of another level than in the table of contents, and entries of it without a heading."""
