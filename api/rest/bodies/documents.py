"""Documents that works are made from, as JSON."""

from typing import Annotated, Any, Final

from fastapi import UploadFile
from pydantic import ConfigDict, Field, StringConstraints

from api.rest.bodies.base import Body, Reply, SettingsByName, WithSettings, with_example
from api.work_uploads import relative_name
from schemas.values.base import MAX_ID, Text
from schemas.values.documents import (
    CorpusSize,
    ListedWork,
    RepairAction,
    SelectionAction,
    WorkChunk,
    WorkHeading,
    WorkView,
)
from schemas.values.requests import ImportRequest
from services.imports import ImportedDocuments, ImportedFile, ImportedFiles, ImportedWorks, WorkFile
from stages.documents.outline import MOST_CHARS
from store.corpora.corpora import CorpusContent, StoredCorpus
from store.corpora.works import WorkSource

#: Changes of one request; more headings are decided by a reply.
MAX_CHANGES = 1000

Line = Annotated[int, Field(ge=1, le=MAX_ID, examples=[12])]
ReplyText = Annotated[Text, Field(min_length=1, max_length=MOST_CHARS, repr=False)]


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


#: Files of one import; more take further imports.
MAX_FILES: Final = 200

FileName = Annotated[Text, StringConstraints(min_length=1, max_length=255)]


class CorporaReply(Reply):
    """Every corpus, by name."""

    corpora: list[CorpusSize]


class CorpusReply(StoredCorpus, CorpusContent):
    """A corpus and what is in it."""

    has_vector_index: bool
    """False for a corpus that every search scans whole."""
    questions: int = Field(examples=[5])
    """Questions that were asked of it, and are deleted with it."""
    answers: int = Field(examples=[8])


class WorkLine(ListedWork):
    """A work in one line."""

    job_id: int | None = Field(examples=[34])
    """The newest job about its file; null for a work that went through no stages."""


class WorksReply(Reply):
    """A part of the works of a corpus, by title."""

    works: list[WorkLine]
    total: int = Field(examples=[12])
    """Works of the corpus, or those that `search` finds."""
    next_offset: int | None = Field(examples=[100])
    """The `offset` of the next part; null in the last one."""


class WorkReply(WorkView):
    """A work without its text."""

    headings: list[WorkHeading]
    """The sections in the order of lines, sections before those inside them."""


class ChunksReply(Reply):
    """A part of the content chunks of a work, in the order of its text."""

    chunks: list[WorkChunk]
    total: int = Field(examples=[12])
    next_offset: int | None = Field(examples=[100])
    """The `offset` of the next part; null in the last one."""


class WorkBody(Body):
    """A work of markdown."""

    file_name: FileName = Field(examples=["tea.md"])
    """Ends in .md or .markdown and identifies the work, with folders where it has some: another text of this name
    replaces it."""
    markdown: Text = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])
    """With or without front matter."""
    title: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """Overrides the front matter, as do the next ones."""
    authors: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    year: Annotated[int, Field(ge=-9999, le=9999)] | None = None
    tags: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] | None = None
    """With commas between."""

    @property
    def file(self) -> WorkFile:
        """The work as a file."""
        given = self.model_dump(exclude={"file_name", "markdown"}, exclude_none=True)
        return WorkFile(self.file_name, self.markdown.encode(), relative_name(self.file_name), given)


class ImportBody(ImportRequest, WithSettings):
    """Works to import into a corpus, which is made if there is none of this name."""

    model_config = with_example(
        corpus="default", works=[{"file_name": "tea.md", "markdown": "# Tea\n\nTea is a drink.\n"}]
    )

    works: Annotated[list[WorkBody], Field(min_length=1, max_length=MAX_FILES)]
    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq import works` on the machine of the API."""
    settings: SettingsByName = Field(default={})
    """Values by name, as with `--set`. An existing corpus takes the embedder that it was made with."""


class ImportForm(ImportRequest):
    """Files to import into a corpus, which is made if there is none of this name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    files: Annotated[list[UploadFile], Field(min_length=1, max_length=MAX_FILES)]
    """The name of each identifies its work: another text of this name replaces it."""


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
    files: list[ImportedFile]
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
        imported, others = files.works, files.documents
        documents = None if others is None else DocumentsReply(**_run_of(others), unchanged=others.unchanged)
        return cls(
            corpus_id=imported.corpus.id,
            corpus=imported.corpus.name,
            files=list(imported.files),
            waiting=imported.waiting,
            **_run_of(imported),
            documents=documents,
            latin1=list(files.latin1),
        )


def _run_of(done: ImportedWorks | ImportedDocuments) -> dict[str, Any]:
    run = done.submitted
    return {"run_id": None, "jobs": 0} if run is None else {"run_id": run.run_id, "jobs": run.jobs}


#: Works of one removal.
MAX_REMOVED: Final = 1000

#: Every reader of JSON keeps whole numbers exactly up to here.
_MOST: Final = 2**53 - 1


class RemoveWorksBody(Body):
    """Works to remove from a corpus."""

    model_config = with_example(work_ids=[9])

    work_ids: Annotated[
        list[Annotated[int, Field(ge=1, le=_MOST)]], Field(min_length=1, max_length=MAX_REMOVED, examples=[[9]])
    ]


class RemovedWorksReply(Reply):
    """The works that were removed."""

    removed: list[WorkSource]
