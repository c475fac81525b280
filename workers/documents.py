"""The stages of documents: from a file to the chunks of a work, and of batches of chunks of a corpus."""

import asyncio
from collections.abc import Sequence
from typing import Any

from adapters.cutting import cutting
from adapters.documents import convert
from schemas.errors import DocumentError, DuplicateWorkError, EmbeddingArtifactMismatchError, WorkFileError
from schemas.values.base import Embedded
from schemas.values.documents import (
    ConvertedDocument,
    CutDocument,
    DecidedBy,
    DocumentOutline,
    EmbeddedBatch,
    PublishedBatch,
    RepairedTitles,
    SanitisedDocument,
    SelectedSections,
    StoredCorpus,
)
from stages.corpora.blocks import read_markdown
from stages.corpora.works import bibliography, embed_chunks
from stages.documents.outline import format_of, outline
from stages.documents.repair import repair_by_model, repair_by_rules, sanitise
from stages.documents.select import sections_of, select_by_model, select_by_rules, selected_chunks
from stages.models import refuse_mixture, resolved_model
from stages.queries.templates import TemplateTag
from stages.texts.languages import language_of
from stages.vectors import embedded_by
from store.corpora import chunk_search, corpora, keeping, works
from store.corpora.keeping import keep
from store.corpora.postings import make_searchable
from store.database import Connection
from store.runs.chain import content_hash
from workers.work import Result, Work


async def run_convert(work: Work) -> ConvertedDocument:
    """The file that the job was submitted with as markdown, converted in a process of its own."""
    named: str = work.claim.inputs["original"]
    work.read["original"] = named
    content = await work.database.ask(corpora.original, named)
    name: str = work.claim.inputs["name"]
    return await convert(content, format_of(content, name), work.wiring.document_limits)


async def run_outline(work: Work) -> DocumentOutline:
    """The headings of the chosen variant beside the document's own table of contents."""
    converted = await work.output(ConvertedDocument)
    return await asyncio.to_thread(outline, converted.markdown, converted.toc, converted.page_lines)


async def run_repair(work: Work) -> RepairedTitles:
    """What becomes of each heading. A model whose replies cannot be used fails the job."""
    headings = (await work.output(DocumentOutline)).headings
    if work.settings.ragq.repair_by == "rules":
        return RepairedTitles(headings=repair_by_rules(headings), by=DecidedBy.RULES)
    toc = (await work.output(ConvertedDocument)).toc
    template = (await work.template(TemplateTag.TITLE_REPAIR)).template_content
    return await repair_by_model(headings, toc, template=template, chat=work.chat, settings=work.settings)


async def run_sanitise(work: Work) -> SanitisedDocument:
    """The document with its repairs: the markdown that becomes the work."""
    converted = await work.output(ConvertedDocument)
    repaired = (await work.output(RepairedTitles)).headings
    return await asyncio.to_thread(sanitise, converted.markdown, repaired, converted.page_lines)


async def run_select(work: Work) -> SelectedSections:
    """Which sections are embedded. A model whose replies cannot be used fails the job."""
    markdown = (await work.output(SanitisedDocument)).markdown
    found = await asyncio.to_thread(sections_of, markdown)
    if work.settings.ragq.select_by == "rules":
        return SelectedSections(skipped=select_by_rules(found), by=DecidedBy.RULES)
    template = (await work.template(TemplateTag.SECTION_SELECTION)).template_content
    return await select_by_model(found, template=template, chat=work.chat, settings=work.settings)


async def run_cut(work: Work) -> CutDocument:
    """Store the work before the stage is: an attempt that was interrupted finds it unchanged. Raises DocumentError when
    another work of the corpus has the same text."""
    inputs = work.claim.inputs
    corpus = await work.database.ask(corpora.corpus, inputs["corpus_id"])
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
        corpus = await work.database.ask(corpora.take_language, inputs["corpus_id"], language)
    cut = cutting(corpus)
    found = await asyncio.to_thread(cut, document, fields.title)
    kept, skipped = selected_chunks(found, selected.skipped)
    try:
        work_id, outcome = await work.database.ask(
            keep,
            corpus.id,
            fields,
            kept,
            source_path=inputs["source_path"],
            markdown=sanitised.markdown,
            original_hash=inputs["original"],
            page_lines=sanitised.page_lines,
            job_id=work.claim.job_id,
        )
    except DuplicateWorkError as error:
        raise DocumentError(f"work {error.work_id} of the corpus has the same text") from None
    waiting = await work.database.ask(works.waiting_of, work_id)
    return CutDocument(
        work_id=work_id, title=fields.title, outcome=outcome, chunk_ids=tuple(waiting), skipped_chunks=skipped
    )


async def corpus_embed(work: Work) -> Result[EmbeddedBatch]:
    """The chunks of a batch of a corpus, or of a work, in one call; those that were replaced are counted and left."""
    is_batch = work.claim.kind == "index"
    asked: Sequence[int] = work.claim.inputs["chunk_ids"] if is_batch else (await work.output(CutDocument)).chunk_ids
    corpus_id: int = work.claim.inputs["corpus_id"]
    corpus = await work.database.ask(corpora.corpus, corpus_id)
    found = await work.database.ask(works.by_ids, asked)
    left = [found[chunk_id] for chunk_id in asked if chunk_id in found]
    work.read["chunks"] = content_hash([[chunk.id, chunk.heading_breadcrumbs, chunk.content] for chunk in left])
    embedder = work.reusing_embedder(corpus.dimension)
    if left:
        refuse_mixture(await embedder.dtype(), corpus.model_dtypes, what=f"Corpus '{corpus.name}'")
    embedded = await embed_chunks(
        left,
        embedder=embedder,
        dimension=corpus.dimension,
        embeds_headings=corpus.embeds_headings,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    by = await embedded_by(embedder, [embedded] if left else [], dimension=corpus.dimension)
    batch = EmbeddedBatch(
        **dict(by),
        chunk_ids=tuple(chunk.id for chunk in left),
        gone=len(asked) - len(left),
        cut_chunk_ids=tuple(left[position].id for position in embedded.cut),
    )
    return Result(batch, embedded.vectors, texts=embedder.texts)


async def corpus_publish(work: Work) -> Result[PublishedBatch]:
    """Make the chunks of a batch searchable; refuses other weights than those of the batches before. Merges what the
    batches before left, and builds the index of a corpus that has grown large."""
    corpus_id: int = work.claim.inputs["corpus_id"]
    batch = await work.output(EmbeddedBatch)
    embedded_by = await work.attempt_id(EmbeddedBatch)
    corpus = await work.database.ask(corpora.corpus, corpus_id)
    if corpus.searchable_chunks + len(batch.chunk_ids) >= work.settings.ragq.hnsw_from_chunks:
        # Beside the batches that come meanwhile, this one too: what they add goes into the index as it is built.
        await work.database.with_retry(
            lambda connection: chunk_search.build_index(connection, corpus_id), in_session=True
        )

    await work.database.ask(keeping.merge, corpus_id)

    async def publish(connection: Connection) -> None:
        if batch.chunk_ids:
            await make_searchable(connection, corpus_id, batch.chunk_ids, embedded_by)
            await corpora.pin_model(connection, corpus_id, batch.model_digest, batch.dtype)
            if has_other_vectors(now := await corpora.corpus(connection, corpus_id), batch):
                raise EmbeddingArtifactMismatchError(
                    f"Corpus '{now.name}' has taken the vectors of {now.model} since its chunks were embedded by "
                    f"{batch.model}; the next import embeds them again."
                )

    return Result(PublishedBatch(corpus_id=corpus_id, chunks=len(batch.chunk_ids)), effect=publish)


#: The chunks of a work are embedded and published as any batch of its corpus.
run_embed, run_publish = corpus_embed, corpus_publish


def has_other_vectors(corpus: StoredCorpus, embedded: Embedded) -> bool:
    """Whether another model embedded these texts than the corpus: by weights, or by names where these are not known."""
    if corpus.dimension != embedded.dimension:
        return True
    if corpus.model_digest and embedded.model_digest:
        return corpus.model_digest != embedded.model_digest
    return resolved_model(corpus.model, corpus.backend) != embedded.model
