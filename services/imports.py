"""Files imported into a corpus: markdown at once, other formats by the stages of a document."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from schemas.errors import DuplicateWorkError
from schemas.settings.resolve import EffectiveSettings
from schemas.values.base import Value
from schemas.values.requests import ImportRequest
from services.corpora import corpus_for_import, cutting_of, plan_corpus
from services.documents import ImportedDocuments, asks_model, import_documents
from services.new_runs import PlannedRun, Submitted, submit_run
from services.reembedding import Reembedded, follow
from services.work_files import ReadWork, WorkFile
from stages.texts.languages import language_of
from store import originals
from store.corpora import corpora
from store.corpora.corpora import StoredCorpus
from store.corpora.keeping import ImportOutcome, NewWork, keep
from store.database import Database
from store.runs.runs import Report, ignored

if TYPE_CHECKING:
    from adapters.cutting import Cutting


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
    report: Report = ignored,
) -> ImportedWorks:
    """Cut works and store them in a corpus, each in a transaction of its own, and submit what waits for a vector.

    `report` takes how many works are stored so far.

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
            files.append(await _import(database, corpus, work, cutting))
            report(len(files), len(new))
    async with database.connection() as connection:
        run = await plan_corpus(connection, corpus, settings)
        waiting = (await corpora.content(connection, corpus.id)).waiting
    # Chunks that wait are never the work of an older run, even when the request is equal.
    submitted = None if run is None else await submit_run(database, PlannedRun(run), always_new=True)
    followed = await follow(database, corpus, settings)
    return ImportedWorks(corpus, tuple(files), waiting, submitted, followed)


async def _import(database: Database, corpus: StoredCorpus, work: ReadWork, cutting: "Cutting") -> ImportedFile:
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
    latin1: Sequence[str] = ()
    """The names of files of text that are not UTF-8, and were read as Latin-1."""

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
    report: Report = ignored,
) -> ImportedFiles:
    """Import works of markdown, and submit the run that makes works of documents, which are read one after the other.

    Markdown goes through the stages too: where the request says so, when a model is to decide about headings, and a
    file that did so before. `report` takes how many works are stored so far. Raises what `import_works` raises.
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
        known = {} if found is None else await originals.imported(connection, found.id)
    return (
        [work for work in works if work.source_path in known],
        [work for work in works if work.source_path not in known],
    )
