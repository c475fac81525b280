"""Stage `cut`: the work and its chunks, stored."""

import asyncio
from typing import Any

from adapters.cutting import cutting
from schemas.errors import DocumentError, DuplicateWorkError, WorkFileError
from schemas.values.corpora import CutChunk
from schemas.values.documents import ConvertedDocument, CutDocument, SanitisedDocument, SelectedSections
from stages.corpora.bibliography import bibliography
from stages.corpora.blocks import read_markdown
from stages.documents.selected_chunks import selected_chunks
from stages.texts.languages import language_of
from store.corpora import chunks, corpora
from store.corpora.keeping import NewWork, keep
from workers.work import Result, Work


async def run(work: Work) -> Result[CutDocument]:
    """Store the work before the stage is: an attempt that was interrupted finds it unchanged.

    Raises DocumentError when another work of the corpus has the same text.
    """
    inputs = work.claim.inputs
    corpus = await work.database.with_retry(lambda connection: corpora.corpus(connection, inputs["corpus_id"]))
    converted, sanitised = await work.output(ConvertedDocument), await work.output(SanitisedDocument)
    selected = await work.output(SelectedSections)
    document = await asyncio.to_thread(read_markdown, sanitised.markdown)
    described = {"title": converted.title, "authors": converted.authors} | inputs["given"]
    known: dict[str, Any] = {name: value for name, value in described.items() if value is not None}
    try:
        fields = bibliography(document, given=known, file_name=inputs["name"])
    except WorkFileError as error:
        raise DocumentError(error.problem.rstrip(".")) from None
    if corpus.language is None:
        language = language_of([sanitised.markdown])
        corpus = await work.database.with_retry(
            lambda connection: corpora.take_language(connection, inputs["corpus_id"], language)
        )
    assert corpus.language is not None
    own = work.settings.ragq.document_chunk_tokens
    size = cutting(
        corpus.backend,
        corpus.model,
        chunk_tokens=corpus.chunk_tokens if own < 0 else own,
        embeds_headings=corpus.embeds_headings,
        language=corpus.language,
        searches_tables=work.settings.ragq.search_tables,
    )
    found: list[CutChunk] = await asyncio.to_thread(size.chunks, document, title=fields.title)
    kept = selected_chunks(found, selected.selections)
    new = NewWork(
        bibliography=fields,
        source_path=inputs["source_path"],
        markdown=sanitised.markdown,
        chunks=kept.chunks,
        original_hash=inputs["original"],
        page_lines=sanitised.page_lines,
    )
    try:
        stored = await work.database.with_retry(lambda connection: keep(connection, corpus.id, new))
    except DuplicateWorkError as error:
        raise DocumentError(f"work {error.work_id} of the corpus has the same text") from None
    waiting = await work.database.with_retry(lambda connection: chunks.waiting_of(connection, stored.work_id))
    return Result(
        CutDocument(
            work_id=stored.work_id,
            title=fields.title,
            outcome=stored.outcome,
            chunk_ids=tuple(waiting),
            skipped_chunks=kept.skipped,
        )
    )
