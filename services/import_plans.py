"""What an import of files would do, and the works whose files are gone, removed."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from schemas.errors import DocumentError, Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import VectorStatus
from schemas.values.estimates import Estimate, Prices
from services.corpora import (
    AS_IT_IS,
    CorpusOptions,
    cutting_by,
    embedding_run,
    known_corpus,
    language_named,
    new_chunk_tokens,
)
from services.documents import PlannedDocument, plan_documents
from services.estimates import estimate
from services.imports import divided
from services.work_files import ReadWork, WorkFile
from stages.documents.outline import format_of, holds_markdown
from stages.texts.languages import language_of
from store import originals
from store.corpora import corpora, sources
from store.corpora.corpora import StoredCorpus
from store.corpora.keeping import ImportOutcome
from store.corpora.sources import WorkSource
from store.database import Connection, Database
from store.runs.runs import NewRun, Report, ignored


class ComparedFile(NamedTuple):
    """What is compared of a file."""

    source_path: str
    sha256: str
    is_markdown: bool
    fields: Mapping[str, Any]
    """Fields of Bibliography that its work is to have, as far as they are known without its text."""
    is_described: bool
    """Fields are given that override those in the file."""
    reason: str | None = None
    """Why it would be refused, whatever is stored."""


class PlannedFile(NamedTuple):
    """What would become of a file."""

    source_path: str
    outcome: ImportOutcome | None
    """None for a file that would be refused."""
    work: WorkSource | None = None
    """The work that it is, or that has its text."""
    reason: str | None = None
    """Why it would be refused."""


@dataclass(frozen=True, kw_only=True)
class MovedWork:
    """A work whose file has another name now."""

    work: WorkSource
    source_path: str


@dataclass(frozen=True, kw_only=True)
class ImportPlan:
    """What becomes of files, by their names, and of works without a file."""

    corpus_id: int | None
    """None for a corpus that is not there yet."""
    files: list[PlannedFile] = field(default_factory=list)
    """Without those that are only moved."""
    converted: list[PlannedDocument] = field(default_factory=list)
    """Those of the new and the replaced that go through the stages of a document."""
    moved: list[MovedWork] = field(default_factory=list)
    removed: list[WorkSource] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    """Folders of which every work is removed."""

    def refuse(self, source_path: str, reason: str) -> None:
        """Let a file be refused that was to be converted."""
        self.files[:] = [file for file in self.files if file.source_path != source_path]
        self.converted[:] = [one for one in self.converted if one.source_path != source_path]
        self.files.append(PlannedFile(source_path, None, reason=reason))

    def paths(self, outcome: ImportOutcome | None) -> list[str]:
        """The files of an outcome."""
        return [file.source_path for file in self.files if file.outcome is outcome]


async def plan_import(
    connection: Connection,
    corpus: str,
    works: Sequence[ReadWork],
    documents: Iterable[WorkFile],
    *,
    folders: Sequence[str] = (),
    is_gone: Callable[[str], bool],
) -> ImportPlan:
    """What an import into a corpus would do, and which of its works `folders` have no file for any more.

    A file whose content a work without a file has is that work under another name. Works of other sources than these
    folders are never removed; nor are those whose file is there and is not imported, such as one of another suffix.
    `documents` are the files that go through the stages of a document, of markdown too.
    """
    corpus_id, stored = await _stored(connection, corpus)
    inside = {folder: [work for work in stored if work.source_path.startswith(_prefix(folder))] for folder in folders}
    gone = {work.id: work for of_folder in inside.values() for work in of_folder if is_gone(work.source_path)}
    plan = ImportPlan(corpus_id=corpus_id)
    staged: dict[str, PlannedDocument] = {}
    moved = _compare(plan, stored, _compared(works, documents, staged), gone)
    changed = (*plan.paths(ImportOutcome.NEW), *plan.paths(ImportOutcome.REPLACED))
    plan.converted.extend(staged[path] for path in changed if path in staged)
    plan.moved.extend(MovedWork(work=gone[work_id], source_path=path) for work_id, path in moved.items())
    plan.removed.extend(work for work in gone.values() if work.id not in moved)
    removed = {work.id for work in plan.removed}
    plan.emptied.extend(
        folder for folder, of_folder in inside.items() if of_folder and removed.issuperset(w.id for w in of_folder)
    )
    return plan


async def prune(connection: Connection, plan: ImportPlan) -> int:
    """Give moved works the names of their files, and remove works without one. How many were removed.

    Each work in a transaction of its own: after a failure, the same import continues. A work that was imported again
    from elsewhere meanwhile stays.
    """
    if plan.corpus_id is None:
        return 0
    for moved in plan.moved:
        await sources.move(connection, plan.corpus_id, moved.work, moved.source_path)
    removed = sum([await sources.remove(connection, plan.corpus_id, work) for work in plan.removed])
    await originals.drop_unused(connection)
    return removed


async def remove_works(connection: Connection, corpus_id: int, work_ids: Iterable[int]) -> list[WorkSource]:
    """Remove works that came from files: all of them, or none. The works.

    Raises Refused with every number that is no such work of the corpus.
    """
    chosen = set(work_ids)
    async with connection.transaction():
        works = [work for work in await sources.sources(connection, corpus_id) if work.id in chosen]
        missing = chosen.difference(work.id for work in works)
        if not missing:
            missing = {work.id for work in works if not await sources.remove(connection, corpus_id, work)}
        if missing:
            raise Refused(
                f"Nothing was removed: corpus {corpus_id} has no work that came from a file with each of these "
                f"numbers: {', '.join(map(str, sorted(missing)))}. They may be removed already.",
                slug="work-missing",
            )
    await originals.drop_unused(connection)
    return works


def is_uploaded(source_path: str) -> bool:
    """Whether the file of a work was uploaded; other works have the whole path of a file on a machine."""
    return not Path(source_path).is_absolute()


async def _stored(connection: Connection, corpus: str) -> tuple[int | None, list[WorkSource]]:
    found = await corpora.find(connection, corpus)
    return (None, []) if found is None else (found.id, await sources.sources(connection, found.id))


def _compared(
    works: Iterable[ReadWork], documents: Iterable[WorkFile], staged: dict[str, PlannedDocument]
) -> Iterator[ComparedFile]:
    """What is compared of files; documents are noted in `staged`, since their content is read once."""
    for file in documents:
        named = sha256(file.content).hexdigest()
        staged[file.source_path] = PlannedDocument.of(file, named)
        yield ComparedFile(file.source_path, named, False, file.fields, bool(file.fields))
    for work in works:
        named = sha256(work.markdown.encode()).hexdigest()
        yield ComparedFile(work.source_path, named, True, work.bibliography.model_dump(), bool(work.given))


def _compare(
    plan: ImportPlan,
    stored: Iterable[WorkSource],
    files: Iterable[ComparedFile],
    gone: Mapping[int, WorkSource],
) -> dict[int, str]:
    """Add to a plan what becomes of files. Which of the works that are `gone` they are, by another name each."""
    by_path = {work.source_path: work for work in stored}
    by_text = {work.content_hash: work for work in by_path.values()}
    moved: dict[int, str] = {}
    read: dict[str, str] = {}
    for file in files:
        if file.reason is not None:
            plan.files.append(PlannedFile(file.source_path, None, reason=file.reason))
            continue
        known = by_path.get(file.source_path)
        is_staged = not file.is_markdown or (known is not None and known.original_hash is not None)
        if is_staged:
            same = next((w for w in gone.values() if w.original_hash == file.sha256 and w.id not in moved), None)
        else:
            same = by_text.get(file.sha256)
        if known is None and same is not None and same.id in gone and same.id not in moved:
            moved[same.id] = file.source_path
            known = same
            if _is_described(known, file, is_staged=is_staged):
                continue
        if not is_staged and same is not known and same is not None:
            reason = f"the same text is work {same.id} already, '{same.title}'."
            plan.files.append(PlannedFile(file.source_path, None, same, reason))
        elif not is_staged and same is None and file.sha256 in read:
            reason = f"{read[file.sha256]} has the same text."
            plan.files.append(PlannedFile(file.source_path, None, None, reason))
        elif known is None:
            plan.files.append(PlannedFile(file.source_path, ImportOutcome.NEW))
        else:
            of_work = known.original_hash if is_staged else known.content_hash
            is_same = of_work == file.sha256 and _is_described(known, file, is_staged=is_staged)
            outcome = ImportOutcome.UNCHANGED if is_same else ImportOutcome.REPLACED
            plan.files.append(PlannedFile(file.source_path, outcome, known))
        if not is_staged:
            read.setdefault(file.sha256, file.source_path)
    return moved


def _is_described(work: WorkSource, file: ComparedFile, *, is_staged: bool) -> bool:
    """Whether an import of the same content would leave the bibliography of a work as it is."""
    if is_staged:
        return not file.is_described
    return all(work.fields[name] == value for name, value in file.fields.items())


def _prefix(folder: str) -> str:
    return folder.rstrip(os.sep) + os.sep


class ImportEstimates(NamedTuple):
    """What the runs of an import would do."""

    embedding: Estimate | None
    """Of the chunks of markdown that is stored at once, and of those that wait; None where there are none."""
    documents: Estimate | None
    """Of the files that go through the stages of a document; None where none of them is new or replaced."""

    @property
    def found(self) -> list[Estimate]:
        """Those there are."""
        return [one for one in self if one is not None]


class PlannedFiles(NamedTuple):
    """What an import of files would do."""

    plan: ImportPlan
    embedded: list[ReadWork]
    """The new and the replaced works whose markdown is stored at once."""


async def plan_files(
    database: Database,
    corpus: str,
    works: Sequence[ReadWork],
    documents: Iterable[WorkFile],
    settings: EffectiveSettings,
    *,
    by_stages: bool = False,
    folders: Sequence[str] = (),
    is_gone: Callable[[str], bool] = lambda _: False,
) -> PlannedFiles:
    """What an import would do, by the content of its files. See `plan_import`."""
    staged, plain = await divided(database, corpus, works, settings, by_stages=by_stages)
    files = chain((work.file for work in staged), documents)
    async with database.connection() as connection:
        plan = await plan_import(connection, corpus, plain, files, folders=folders, is_gone=is_gone)
    changed = {*plan.paths(ImportOutcome.NEW), *plan.paths(ImportOutcome.REPLACED)}
    return PlannedFiles(plan, [work for work in plain if work.source_path in changed])


async def open_documents(
    plan: ImportPlan,
    read: Callable[[str], bytes],
    process: ProcessSettings,
    *,
    report: Report = ignored,
) -> None:
    """Convert the documents of a plan as their jobs would; those that cannot be are refused in it, with the reason.

    `read` gives the content by the name of a file.
    """
    # The API, which imports this file, opens no document.
    from adapters.documents import convert
    from adapters.limited_process import ProcessLimits

    limits = ProcessLimits(
        process.ragq_document_seconds, process.ragq_document_memory_mb, process.ragq_document_output_mb
    )
    at_once = asyncio.Semaphore(os.cpu_count() or 1)
    opened = 0

    async def open_one(document: PlannedDocument) -> None:
        nonlocal opened
        async with at_once:
            try:
                content = await asyncio.to_thread(read, document.name)
                form = None if holds_markdown(content, document.name) else format_of(content, document.name)
                if form is not None:
                    await convert(content, form, limits)
            except DocumentError as error:
                plan.refuse(document.source_path, str(error).removeprefix("The document cannot be imported: "))
        opened += 1
        report(opened, total)

    documents = list(plan.converted)
    total = len(documents)
    await asyncio.gather(*map(open_one, documents))


async def estimate_import(
    database: Database,
    corpus: str,
    planned: PlannedFiles,
    settings: EffectiveSettings,
    *,
    options: CorpusOptions = AS_IT_IS,
    embeds: bool = True,
    prices: Prices | None = None,
) -> ImportEstimates:
    """What the runs of a planned import would do. See `estimate`."""

    async def plan(connection: Connection) -> NewRun:
        return await _plan_embedding(connection, corpus, planned, settings, options)

    documents = await estimate_documents(
        database, corpus, planned.plan.converted, settings, options=options, prices=prices
    )
    embedding = await estimate(database, plan, settings, prices=prices) if embeds else None
    # What is missing for documents is shown once.
    is_shown = embedding is not None and (embedding.jobs or (embedding.missing and documents is None))
    return ImportEstimates(embedding if is_shown else None, documents)


async def estimate_documents(
    database: Database,
    corpus: str,
    documents: Sequence[PlannedDocument],
    settings: EffectiveSettings,
    *,
    options: CorpusOptions = AS_IT_IS,
    prices: Prices | None = None,
) -> Estimate | None:
    """What the run of imported documents would do; None without one. See `estimate`."""

    async def plan(connection: Connection) -> NewRun:
        return await plan_documents(connection, corpus, documents, settings, options)

    return await estimate(database, plan, settings, prices=prices) if documents else None


async def _plan_embedding(
    connection: Connection, name: str, planned: PlannedFiles, settings: EffectiveSettings, options: CorpusOptions
) -> NewRun:
    """The run that embeds new works and what waits in their corpus, with zeros in place of its chunks."""
    found = await known_corpus(connection, name, settings, options)
    due = 0
    if found is not None:
        replaced = [file.work.id for file in planned.plan.files if file.outcome is ImportOutcome.REPLACED and file.work]
        due = len(await corpora.waiting(connection, found.id, without=replaced))
    if planned.embedded:
        due += await asyncio.to_thread(_count_chunks, found, planned.embedded, settings, options)
    return embedding_run(name, None if found is None else found.id, [0] * due, settings)


def _count_chunks(
    found: StoredCorpus | None, works: Sequence[ReadWork], settings: EffectiveSettings, options: CorpusOptions
) -> int:
    """The chunks of works that get a vector."""
    run = settings.run
    backend, model = run.embedding.backend, run.model.embedding_model
    language = language_named(options.language) if found is None else found.language
    cutting = cutting_by(
        backend,
        model,
        chunk_tokens=found.chunk_tokens if found else new_chunk_tokens(backend, model, options.chunk_tokens).most,
        embeds_headings=found.embeds_headings if found else options.embeds_headings is not False,
        language=language or language_of([work.markdown for work in works]),
        searches_tables=run.ragq.search_tables,
    )
    cut = (chunk for work in works for chunk in cutting.chunks(work.document, title=work.bibliography.title))
    return sum(chunk.vector_status is VectorStatus.TO_VEC for chunk in cut)
