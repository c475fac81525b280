"""Documents that works are made from, as JSON."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import UploadFile
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from api.parameters import MAX_ID, Text
from api.rest.bodies.base import Body, Reply, SettingsByName, WithSettings, with_example
from api.work_uploads import ImportRequest, relative_name
from schemas.statuses import JobStatus, StageStatus, VectorStatus
from schemas.values.documents import DecidedBy, RepairAction, SelectionAction
from services.corpora import CorpusOptions
from services.documents import ImportedDocuments
from services.imports import ImportedFiles
from services.work_files import WorkFile
from stages.documents.outline import MOST_CHARS
from store.corpora.keeping import ImportOutcome
from store.corpora.sources import WorkSource

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


#: Files of one import; more take further imports.
MAX_FILES: Final = 200

CorpusName = Annotated[Text, StringConstraints(min_length=1, max_length=1000)]
FileName = Annotated[Text, StringConstraints(min_length=1, max_length=255)]


class CorpusLine(Reply):
    """A corpus and its size."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["default"])
    works: int = Field(examples=[12])
    searchable_chunks: int = Field(examples=[940])
    """Chunks that searches can find."""
    model: str = Field(examples=["sentence-transformers/all-MiniLM-L6-v2"])
    """The model that embeds it."""
    language: str | None = Field(examples=["english"])
    """Null until the first work is stored."""
    full_text: str | None = Field(examples=["english"])
    """The text search configuration of Postgres; `simple` has no dictionary."""


class CorporaReply(Reply):
    """Every corpus, by name."""

    corpora: list[CorpusLine]


class CorpusReply(Reply):
    """A corpus and what is in it."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["default"])
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
    has_vector_index: bool
    """False for a corpus that every search scans whole."""
    works: int = Field(examples=[12])
    sections: int = Field(examples=[96])
    """Headings, each with all lines of its section; they are not searched."""
    searchable: int = Field(examples=[2])
    """Content chunks that can be found."""
    waiting: int = Field(examples=[3])
    """Content chunks without a vector."""
    failed: int = Field(examples=[0])
    """Those of them whose job failed."""
    tables: int = Field(examples=[4])
    """Stored, not embedded."""
    figures: int = Field(examples=[2])
    """Stored, not embedded."""
    cut: int = Field(examples=[1])
    """Chunks that are longer than the embedder reads: the vector has only their beginning."""
    tokens: int | None = Field(examples=[3120])
    """Of all content chunks that are embedded; null if not every chunk was counted."""
    unseen_tokens: int | None = Field(examples=[0])
    """Those of them that the embedder does not read."""
    unseen_share: float | None = Field(examples=[0.0])
    """Their share."""
    questions: int = Field(examples=[5])
    """Questions that were asked of it, and are deleted with it."""
    answers: int = Field(examples=[8])
    created_at: datetime


class WorkLine(Reply):
    """A work in one line."""

    id: int = Field(examples=[7])
    title: str = Field(examples=["On Tea"])
    authors: str | None = Field(examples=["A. Leaf, B. Pot"])
    year: int | None = Field(examples=[2019])
    source_path: str | None = Field(examples=["tea.md"])
    content_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the stored markdown."""
    chunks: int = Field(examples=[2])
    """Content chunks that are searched or wait for it."""
    searchable: int = Field(examples=[2])
    created_at: datetime
    updated_at: datetime
    job_id: int | None = Field(examples=[34])
    """The newest job about its file; null for a work that went through no stages."""


class WorksReply(Reply):
    """A part of the works of a corpus, by title."""

    works: list[WorkLine]
    total: int = Field(examples=[12])
    """Works of the corpus, or those that `search` finds."""
    next_offset: int | None = Field(examples=[100])
    """The `offset` of the next part; null in the last one."""


class HeadingReply(Reply):
    """A section of a work."""

    id: int = Field(examples=[7])
    """Also a chunk, and the `parent_id` of what is in the section."""
    parent_id: int | None = Field(examples=[11])
    level: int = Field(ge=1, le=5, examples=[2])
    text: str = Field(examples=["Oxidation"])
    """The heading; empty where it has no words."""
    start_line: int = Field(examples=[9])
    """1-based line of the work's markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""
    chunks: int = Field(examples=[2])
    """Content chunks of the section itself, without deeper sections."""


class WorkReply(Reply):
    """A work without its text."""

    id: int = Field(examples=[7])
    corpus_id: int = Field(examples=[1])
    corpus: str = Field(examples=["default"])
    title: str = Field(examples=["On Tea"])
    authors: str | None = Field(examples=["A. Leaf"])
    year: int | None = Field(examples=[2019])
    publisher: str | None = Field(examples=["Pot Press"])
    isbn: str | None = Field(examples=["0306406152"])
    doi: str | None = Field(examples=["10.1000/182"])
    edition: str | None = Field(examples=["2"])
    volume: str | None = Field(examples=["1"])
    issue: str | None = Field(examples=["3"])
    pages: str | None = Field(examples=["10-20"])
    url: str | None = Field(examples=["https://example.org/tea"])
    city: str | None = Field(examples=["Kyoto"])
    institution: str | None = Field(examples=["Tea Institute"])
    editor: str | None = Field(examples=["B. Pot"])
    abstract: str | None = Field(examples=["What happens in the leaf."])
    work_type: str | None = Field(examples=["book"])
    tags: str | None = Field(examples=["green tea, history"])
    source_path: str | None = Field(examples=["tea.md"])
    content_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the stored markdown."""
    lines: int = Field(examples=[15])
    """Lines of the markdown, up to the last that is in a section."""
    chunks: int = Field(examples=[2])
    """Content chunks."""
    searchable: int = Field(examples=[2])
    created_at: datetime
    updated_at: datetime
    headings: list[HeadingReply]
    """The sections in the order of lines, sections before those inside them."""


class ChunkReply(Reply):
    """A content chunk."""

    id: int = Field(examples=[7])
    parent_id: int | None = Field(examples=[11])
    """The section around it."""
    level: str = Field(examples=["H2-chunk"])
    start_line: int = Field(examples=[9])
    """1-based line of the work's markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""
    words: int = Field(examples=[143])
    heading_breadcrumbs: str | None = Field(examples=["Tea > Oxidation"])
    vector_status: VectorStatus = Field(examples=["vec"])
    """`vec` can be found, `to_vec` waits for its vector, `vec_err` failed, `tbl` and `fig` are not embedded."""
    is_cut: bool
    """The text is longer than the embedder reads: the vector has only its beginning."""
    content: str = Field(repr=False, examples=["After picking, the leaves are rolled."])


class ChunksReply(Reply):
    """A part of the content chunks of a work, in the order of its text."""

    chunks: list[ChunkReply]
    total: int = Field(examples=[12])
    next_offset: int | None = Field(examples=[100])
    """The `offset` of the next part; null in the last one."""


class DescribedBody(Body):
    """Fields of a work that override its front matter."""

    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """Overrides the front matter, as do the next ones."""
    authors: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    year: Annotated[int, Field(ge=-9999, le=9999)] | None = None
    tags: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """With commas between."""

    @property
    def given(self) -> dict[str, Any]:
        """The fields that have a value."""
        return self.model_dump(include=set(DescribedBody.model_fields), exclude_none=True)


class WorkBody(DescribedBody):
    """A work of markdown."""

    file_name: FileName = Field(examples=["tea.md"])
    """Ends in .md or .markdown and identifies the work, with folders where it has some: another text of this name
    replaces it."""
    markdown: Text = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])
    """With or without front matter."""


class ImportBody(WithSettings):
    """Works to import into a corpus, which is made if there is none of this name."""

    model_config = with_example(
        corpus="default", works=[{"file_name": "tea.md", "markdown": "# Tea\n\nTea is a drink.\n"}]
    )

    corpus: CorpusName
    works: Annotated[list[WorkBody], Field(min_length=1, max_length=MAX_FILES)]
    embed_headings: bool | None = None
    """Embed each chunk under its headings; a new corpus does unless this is false."""
    chunk_tokens: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """The most tokens of a chunk with its headings, as the embedder counts them; 0 sizes chunks by words. An existing
    corpus keeps its size."""
    language: Annotated[Text, Field(min_length=1, max_length=50)] | None = Field(default=None, examples=["german"])
    """The language of a new corpus, fixed then; `auto`, the default, finds it in the works, and `simple` has no
    dictionary. Another one than that of an existing corpus is refused."""
    by_stages: bool = False
    """Take markdown through the stages of a document too; a file that went through them before does so anyway."""
    embed: bool = True
    """False imports only; the next import embeds what waits."""
    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq import works` on the machine of the API."""
    settings: SettingsByName = Field(default={})
    """Values by name, as with `--set`. An existing corpus takes the embedder that it was made with."""

    @property
    def request(self) -> ImportRequest:
        """The import that it asks for, its works as files."""
        return ImportRequest(
            corpus=self.corpus,
            files=[
                WorkFile(work.file_name, work.markdown.encode(), relative_name(work.file_name), work.given)
                for work in self.works
            ],
            values=self.values,
            profile=self.profile,
            options=CorpusOptions(self.embed_headings, self.chunk_tokens, self.language),
            embeds=self.embed,
            by_stages=self.by_stages,
        )


class ImportForm(BaseModel):
    """Files of markdown to import into a corpus, which is made if there is none of this name."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    corpus: CorpusName
    language: Annotated[Text, Field(min_length=1, max_length=50)] | None = None
    """The language of a new corpus, fixed then; by default it is found."""
    files: Annotated[list[UploadFile], Field(min_length=1, max_length=MAX_FILES)]
    """Each ends in .md or .markdown; its name identifies the work: another text of this name replaces it."""
    by_stages: bool = False
    """Take markdown through the stages of a document too; a file that went through them before does so anyway."""
    embed: bool = True
    """False imports only; the next import embeds what waits."""


class ImportedFileReply(Reply):
    """What became of one file."""

    file_name: str = Field(examples=["tea.md"])
    outcome: ImportOutcome | Literal["refused"] = Field(examples=["new"])
    """`refused` has the text of another work of the corpus."""
    work_id: int = Field(examples=[7])
    """The work that has the text."""


class DocumentsReply(Reply):
    """What became of files of other formats than markdown."""

    run_id: int | None = Field(examples=[13])
    """The run that makes works of them, one job for each file; null when all are unchanged."""
    jobs: int = Field(examples=[2])
    unchanged: int = Field(examples=[0])
    """Files that were imported before as they are."""


class ImportReply(Reply):
    """What an import led to."""

    corpus_id: int = Field(examples=[1])
    corpus: str = Field(examples=["default"])
    files: list[ImportedFileReply]
    waiting: int = Field(examples=[3])
    """Chunks of the corpus that wait for their vectors."""
    run_id: int | None = Field(examples=[12])
    """The run that embeds them; null when no chunk was left to embed."""
    jobs: int = Field(examples=[1])
    documents: DocumentsReply | None = None
    """Null where all files are markdown."""
    latin1: list[str] = Field(examples=[["old.md"]])
    """The names of files that are not UTF-8, and were read as Latin-1."""

    @classmethod
    def of(cls, files: ImportedFiles) -> "ImportReply":
        """The reply to an import."""
        imported, documents = files.works, files.documents
        submitted = imported.submitted
        return cls(
            corpus_id=imported.corpus.id,
            corpus=imported.corpus.name,
            files=[
                ImportedFileReply(
                    file_name=file.name,
                    outcome=file.outcome or "refused",
                    work_id=file.work_id,
                )
                for file in imported.files
            ],
            waiting=imported.waiting,
            run_id=None if submitted is None else submitted.run_id,
            jobs=0 if submitted is None else submitted.jobs,
            documents=None if documents is None else _documents(documents),
            latin1=list(files.latin1),
        )


def _documents(converted: ImportedDocuments) -> DocumentsReply:
    submitted = converted.submitted
    return DocumentsReply(
        run_id=None if submitted is None else submitted.run_id,
        jobs=0 if submitted is None else submitted.jobs,
        unchanged=converted.unchanged,
    )


#: Works of one removal.
MAX_REMOVED: Final = 1000

#: Every reader of JSON keeps whole numbers exactly up to here.
_MOST: Final = 2**53 - 1


class WorkSourceReply(Reply):
    """A work and the file that it came from."""

    id: int = Field(examples=[9])
    title: str = Field(examples=["Bridges"])
    source_path: str | None = Field(examples=["bridges.md"])
    """Null for a work that was imported without a file."""

    @classmethod
    def of(cls, work: WorkSource) -> "WorkSourceReply":
        """The reply about a work."""
        return cls.model_validate(work)


class RemoveWorksBody(Body):
    """Works to remove from a corpus."""

    model_config = with_example(work_ids=[9])

    work_ids: Annotated[
        list[Annotated[int, Field(ge=1, le=_MOST)]], Field(min_length=1, max_length=MAX_REMOVED, examples=[[9]])
    ]


class RemovedWorksReply(Reply):
    """The works that were removed."""

    removed: list[WorkSourceReply]
