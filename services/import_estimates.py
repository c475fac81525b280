"""Dry runs of imports: what files become, and what the runs of an import would do. Nothing is stored or sent."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from schemas.errors import DocumentError
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import VectorStatus
from schemas.values.costs import Prices
from schemas.values.estimates import Estimate
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
from services.import_plans import ImportPlan, plan_import
from services.imports import divided
from services.work_files import ReadWork, WorkFile
from stages.documents.formats import format_of, holds_markdown
from stages.texts.languages import language_of
from store.corpora import corpora
from store.corpora.corpora import StoredCorpus
from store.corpora.keeping import ImportOutcome
from store.database import Connection, Database
from store.runs.runs import NewRun, Report, ignored


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
