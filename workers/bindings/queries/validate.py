"""Stage `validate` of a query: a question that the corpus does not answer fails, and a model judges each chunk."""

from collections.abc import Sequence

from schemas.full_text import ENGLISH
from schemas.values.queries import RerankedChunk, RerankedChunks, ValidatedChunks
from stages.queries.relevance import evidence, floor_models
from stages.queries.templates import TemplateTag
from stages.queries.validate import keep_all, refuse_below, validate_chunks
from store.questions.queries import StoredQuery
from workers.bindings.queries.reading import advising, question, searched_corpora, template, terms_of
from workers.work import Result, Work


async def run(work: Work) -> Result[ValidatedChunks]:
    """As set in the preset; without any chunk left the job fails, unless the preset allows that.

    Below the relevance floor it fails whatever the preset allows, before a language model is asked.
    """
    reranked = await work.output(RerankedChunks)
    query = await question(work)
    with advising(work, query):
        relevance = await _relevance(work, query, reranked.chunks)
        validated = await _validated(work, query, reranked.chunks)
    return Result(validated.model_copy(update={"relevance": relevance}))


async def _relevance(work: Work, query: StoredQuery, chunks: Sequence[RerankedChunk]) -> float | None:
    floor = work.settings.ragq.relevance_floor
    if not floor or not chunks:
        return None
    first, *_ = searched = await searched_corpora(work, query)
    found = await evidence(
        query.original_query,
        chunks,
        embedder=work.embedder,
        terms=terms_of(work, searched),
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
        language=first.language or ENGLISH,
    )
    probability = 0.0 if found is None else floor_models()[work.embedder.name].probability(found)
    refuse_below(probability, floor)
    return probability


async def _validated(work: Work, query: StoredQuery, chunks: Sequence[RerankedChunk]) -> ValidatedChunks:
    preset = work.preset.validation
    if not preset.enabled:
        return keep_all(chunks, allow_empty=preset.allow_empty)
    asked_by = await template(work, TemplateTag.CHUNK_VALIDATION)
    return await validate_chunks(
        query.original_query,
        chunks,
        template=asked_by.text,
        chat=work.chat,
        model=preset.model or work.settings.model.judge_model,
        timeout_s=work.settings.ollama.timeout_seconds,
        max_chunks=preset.max_chunks,
        max_chars=work.settings.ragq.validation_max_chars,
        max_tokens=work.settings.ragq.verdict_max_tokens,
        retries=work.settings.ragq.reply_retries,
        allow_empty=preset.allow_empty,
    )
