"""Files imported into a corpus: markdown at once, other formats by the stages of a document, each as its own job."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import Field

from schemas.chains import stages_of
from schemas.errors import DocumentError, DuplicateWorkError, Refused, WorkFileError, WorkFilesError
from schemas.settings.resolve import EffectiveSettings
from schemas.values.base import Value
from schemas.values.documents import Bibliography
from schemas.values.requests import ImportRequest
from services.corpora import Reembedded, corpus_for_import, cutting_of, follow, plan_corpus
from services.new_runs import Submitted, submit_run
from stages.corpora.blocks import MarkdownDocument, passage, read_markdown
from stages.corpora.works import bibliography
from stages.documents.outline import READERS_MISSING, DocumentFormat, format_of, holds_markdown
from stages.queries.templates import OF_DOCUMENTS
from stages.texts.characters import can_be_stored
from stages.texts.languages import language_of
from store.corpora import corpora
from store.corpora.corpora import StoredCorpus
from store.corpora.keeping import ImportOutcome, NewWork, keep
from store.database import Connection, Database
from store.questions import presets
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun

if TYPE_CHECKING:
    from adapters.cutting import Cutting

#: Why the second of two files of an import is refused.
SAME_NAME: Final = (
    "another file of this import has the same name, which identifies the work; rename one, or send both with their "
    "folders (teas/tea.md)."
)

EMPTY: Final = "is empty."


class WorkFile(NamedTuple):
    """A file that is to become a work."""

    name: str
    """Shown in messages. Without its suffix the title of a work that has no other."""
    content: bytes
    source_path: str
    """Identifies the work: another file of the same source replaces it."""
    fields: Mapping[str, Any] = {}
    """Fields of Bibliography that override the front matter."""


class ReadWork(NamedTuple):
    """A file that can be a work, before it is cut."""

    bibliography: Bibliography
    source_path: str
    markdown: str
    document: MarkdownDocument
    name: str
    given: Mapping[str, Any]
    """The fields that override its front matter."""

    @property
    def file(self) -> WorkFile:
        """What was read."""
        return WorkFile(self.name, self.markdown.encode(), self.source_path, self.given)


@dataclass
class ReadFiles:
    """Files of an import."""

    works: list[ReadWork] = field(default_factory=list)
    """Those of markdown."""
    documents: list[WorkFile] = field(default_factory=list)
    """Those of other formats, which are converted first."""
    refused: dict[int, WorkFileError] = field(default_factory=dict)
    """Those that cannot be works, by their places among the files, from 0."""

    def readable(self) -> "ReadFiles":
        """The same. Raises WorkFilesError where any file was refused."""
        if self.refused:
            raise WorkFilesError(self.refused)
        return self

    def refuse(self, error: WorkFileError) -> None:
        """Note a file that cannot be a work, after those that were read as one list."""
        self.refused[max(self.refused, default=-1) + 1] = error

    def documents_in(self, files: Iterable[WorkFile]) -> Iterator[WorkFile]:
        """The files that can be documents, each when it is its turn; the others are noted as refused."""
        for file in files:
            try:
                self._check_document(file)
            except WorkFileError as error:
                self.refuse(error)
            else:
                yield file

    def add(self, file: WorkFile) -> None:
        """Read a file. Raises WorkFileError for one that cannot be a work."""
        if not file.content:
            raise WorkFileError(file.name, EMPTY)
        if holds_markdown(file.content, file.name):
            self.works.append(_read_work(file))
        else:
            self._check_document(file)
            self.documents.append(file)

    def _check_document(self, file: WorkFile) -> None:
        if not file.content:
            raise WorkFileError(file.name, EMPTY)
        try:
            if format_of(file.content, file.name) in (DocumentFormat.TEXT, DocumentFormat.RST):
                _text(file)
        except DocumentError as error:
            raise WorkFileError(file.name, f"{error.problem}.") from None


def _text(file: WorkFile) -> str:
    try:
        return file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkFileError(file.name, f"byte {error.start} is not UTF-8; save it as UTF-8.") from None


def read_files(files: Sequence[WorkFile]) -> ReadFiles:
    """The works in files of markdown, and the other files as they are.

    Refused is every file that is empty, of no known format, or of the same source as one before it, and every file of
    text that is not UTF-8, has no text, or has front matter that cannot be used.
    """
    read = ReadFiles()
    named: set[str] = set()
    for place, file in enumerate(files):
        try:
            if file.source_path in named:
                raise WorkFileError(file.name, SAME_NAME)
            named.add(file.source_path)
            read.add(file)
        except WorkFileError as error:
            read.refused[place] = error
    return read


def _read_work(file: WorkFile) -> ReadWork:
    markdown = _text(file)
    if "\0" in markdown:
        raise WorkFileError(file.name, "holds a NUL character; is it text at all?")
    document = read_markdown(markdown)
    described = bibliography(document, given=file.fields, file_name=file.name)
    if not all(can_be_stored(str(text)) for text in (file.source_path, *described.model_dump().values())):
        raise WorkFileError(file.name, "its name or its front matter has a character that no text has; remove it.")
    if not any(passage(document.lines, block.start_line, block.end_line).strip() for block in document.blocks):
        raise WorkFileError(file.name, "holds no text.")
    return ReadWork(described, file.source_path, markdown, document, file.name, file.fields)


class ImportedDocuments(NamedTuple):
    """What became of documents."""

    unchanged: int
    """Files that the works of the corpus were converted from already."""
    submitted: Submitted | None
    """None when nothing was to be converted."""


async def import_documents(
    database: Database, corpus: StoredCorpus, files: Iterable[WorkFile], settings: EffectiveSettings
) -> ImportedDocuments:
    """Store files, read one after the other, and submit a job for each that is new or changed.

    A file that cannot be read fails its own job.
    """
    async with database.connection() as connection:
        known = await corpora.imported(connection, corpus.id)
        asked_by = await document_templates(connection)
    async with corpora.importing(database):
        return await _import(database, corpus, files, settings, known, asked_by)


async def _import(
    database: Database,
    corpus: StoredCorpus,
    files: Iterable[WorkFile],
    settings: EffectiveSettings,
    known: Mapping[str, str],
    asked_by: Mapping[str, int],
) -> ImportedDocuments:
    inputs: list[Mapping[str, Any]] = []
    unchanged = 0
    for file in files:
        named = await database.once(corpora.keep_original, file.content)
        if known.get(file.source_path) == named and not file.fields:
            unchanged += 1
            continue
        inputs.append(
            {
                "corpus_id": corpus.id,
                "original": named,
                "name": file.name,
                "source_path": file.source_path,
                "given": dict(file.fields),
                "templates": dict(asked_by),
            }
        )
    if not inputs:
        return ImportedDocuments(unchanged, None)
    run = _run(corpus, inputs, settings)
    return ImportedDocuments(unchanged, await submit_run(database, run, always_new=True))


async def document_templates(connection: Connection) -> dict[str, int]:
    """The active version of each template by which a model decides about documents, by tag."""
    return {tag: (await presets.template(connection, tag)).version for tag in OF_DOCUMENTS}


def asks_model(settings: EffectiveSettings) -> bool:
    """Whether a language model repairs headings or selects sections."""
    return "model" in (settings.run.ragq.repair_by, settings.run.ragq.select_by)


def require_readers() -> None:
    """Raise Refused unless the packages that read documents are installed."""
    if find_spec("pypandoc") is None or find_spec("pypdfium2") is None:
        raise Refused(READERS_MISSING)


def _run(corpus: StoredCorpus, inputs: Sequence[Mapping[str, Any]], settings: EffectiveSettings) -> NewRun:
    cut_for = [corpus.backend, corpus.model, corpus.dimension, corpus.chunk_tokens]
    stages = stages_of("work", "document")
    return NewRun(
        kind="work",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=content_hash([*cut_for, settings.run.values()]),
        request={"corpus": corpus.name, "documents": len(inputs), "profile_source": settings.profile_source},
        # The name of a file may say what nobody else may know: a number stands for it outside of the database.
        jobs=[
            NewJob(mode="document", subject=str(number), inputs=dict(one), stages=stages)
            for number, one in enumerate(inputs, start=1)
        ],
    )


Report = Callable[[int, int], None]
"""Takes how many works are stored, of how many."""


def _ignored(_stored: int, _of: int) -> None:
    """Nobody is told."""


class ImportedFile(Value):
    """What became of one file."""

    file_name: str = Field(repr=False, examples=["tea.md"])
    outcome: ImportOutcome | Literal["refused"] = Field(examples=["new"])
    """`refused` has the text of another work of the corpus."""
    work_id: int = Field(examples=[7])
    """The work that has the text."""
    title: str = Field(repr=False, examples=["Tea"])
    """Of that work."""


class ImportedWorks(NamedTuple):
    """What became of the works."""

    corpus: StoredCorpus
    files: tuple[ImportedFile, ...]
    waiting: int
    """Chunks of the corpus that wait for a vector."""
    submitted: Submitted | None
    """None when nothing was to be embedded, or nothing should be."""
    followed: Reembedded | None = None
    """The copy of the corpus, which gets the works too."""

    @property
    def outcomes(self) -> Counter[ImportOutcome]:
        """How many files had each outcome."""
        return Counter(file.outcome for file in self.files if isinstance(file.outcome, ImportOutcome))

    @property
    def has_changes(self) -> bool:
        """Whether a work is new or replaced."""
        return bool(self.outcomes - Counter({ImportOutcome.UNCHANGED: len(self.files)}))

    @property
    def refused(self) -> list[str]:
        """Each file that repeats another work, and which."""
        return [
            f"{file.file_name}: the same text is work {file.work_id} already, '{file.title}'"
            for file in self.files
            if file.outcome == "refused"
        ]


async def import_works(
    database: Database,
    request: ImportRequest,
    new: Sequence[ReadWork],
    settings: EffectiveSettings,
    *,
    report: Report = _ignored,
) -> ImportedWorks:
    """Cut works and store them in a corpus, each in a transaction of its own, and submit what waits for a vector.

    A work whose text another work has is refused, by itself. Raises what `corpus_for_import` and `cutting_of` raise.
    """
    async with database.connection() as connection:
        corpus = await corpus_for_import(connection, request, settings)
        if new and corpus.language is None:
            found = await asyncio.to_thread(language_of, [work.markdown for work in new])
            corpus = await corpora.take_language(connection, corpus.id, found)
    files: list[ImportedFile] = []
    if new:
        cutting = cutting_of(corpus, searches_tables=settings.run.ragq.search_tables)
        for work in new:
            files.append(await _import_work(database, corpus, work, cutting))
            report(len(files), len(new))
    async with database.connection() as connection:
        run = await plan_corpus(connection, corpus, settings)
        waiting = (await corpora.view(connection, corpus.id)).waiting
    # Chunks that wait are never the work of an older run, even when the request is equal.
    submitted = None if run is None else await submit_run(database, run, always_new=True)
    followed = await follow(database, corpus, settings)
    return ImportedWorks(corpus, tuple(files), waiting, submitted, followed)


async def _import_work(database: Database, corpus: StoredCorpus, work: ReadWork, cutting: "Cutting") -> ImportedFile:
    title, source = work.bibliography.title, work.source_path
    chunks = await asyncio.to_thread(cutting.chunks, work.document, title=title)
    new = NewWork(bibliography=work.bibliography, source_path=source, markdown=work.markdown, chunks=chunks)
    try:
        kept = await database.once(keep, corpus.id, new)
    except DuplicateWorkError as error:
        return ImportedFile(file_name=source, outcome="refused", work_id=error.work_id, title=error.title)
    return ImportedFile(file_name=source, outcome=kept.outcome, work_id=kept.work_id, title=title)


class ImportedFiles(NamedTuple):
    """What became of files."""

    works: ImportedWorks
    documents: ImportedDocuments | None
    """None where all files are markdown."""
    refused: Sequence[str] = ()
    """Of each file that cannot be a work its name, and why."""

    @property
    def has_changes(self) -> bool:
        """Whether a work is new or replaced, or may be once its document is converted."""
        return self.works.has_changes or (self.documents is not None and self.documents.submitted is not None)


async def import_files(
    database: Database,
    request: ImportRequest,
    works: Sequence[ReadWork],
    documents: Iterable[WorkFile] | None,
    settings: EffectiveSettings,
    *,
    report: Report = _ignored,
) -> ImportedFiles:
    """Import works of markdown, and submit the run that makes works of documents, which are read one after the other.

    Markdown goes through the stages too: where the request says so, when a model is to decide about headings, and a
    file that did so before. Raises what `import_works` raises.
    """
    staged, plain = await _divided(database, request, works, settings)
    if staged:
        documents = chain((work.file for work in staged), documents or ())
    imported = await import_works(database, request, plain, settings, report=report)
    if documents is None:
        return ImportedFiles(imported, None)
    return ImportedFiles(imported, await import_documents(database, imported.corpus, documents, settings))


async def _divided(
    database: Database, request: ImportRequest, works: Sequence[ReadWork], settings: EffectiveSettings
) -> tuple[Sequence[ReadWork], Sequence[ReadWork]]:
    """The works that go through the stages of a document, and those that do not."""
    if request.by_stages or asks_model(settings):
        return works, ()
    async with database.connection() as connection:
        found = await corpora.find(connection, request.corpus)
        known = {} if found is None else await corpora.imported(connection, found.id)
    return (
        [work for work in works if work.source_path in known],
        [work for work in works if work.source_path not in known],
    )
