"""The stages of queries, and those that evaluate answers: what each reads, asks and stores."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from schemas.errors import DomainError, EmbeddingArtifactMismatchError, FailureCategory, NothingRelevantError
from schemas.full_text import ENGLISH, SIMPLE
from schemas.values.documents import StoredCorpus
from schemas.values.evaluations import AnswerScores, JudgedAnswer, SplitAnswer
from schemas.values.queries import (
    Answer,
    AugmentedPrompt,
    ConsolidatedContext,
    EmbeddedQuery,
    Expansion,
    Origin,
    RerankedChunks,
    RetrievedChunks,
    ValidatedChunks,
)
from stages.evaluations.judge import judge_answer, score_answer, split_answer
from stages.queries.augment import source_texts
from stages.queries.consolidate import consolidate_chunks
from stages.queries.expand import expand_query, no_expansion, pasted_expansion
from stages.queries.extract_answer import extracted_answer
from stages.queries.relevance import fitted_weights, probability, refuse_below
from stages.queries.rerank import NO_RANKER, Ranker, by_cross_encoder, by_score_fusion, keep_order, rerank_chunks
from stages.queries.retrieve import embed_query, retrieve_chunks
from stages.queries.templates import TemplateTag, generate_answer
from stages.queries.validate import evidence, keep_all, validate_chunks
from store.corpora import corpora, postings, works
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.works import matching_chunks
from store.database import Connection
from store.questions import answers, queries
from store.questions.answers import make_prompt
from store.questions.queries import StoredQuery
from store.runs.chain import content_hash
from workers.documents import has_other_vectors
from workers.ledger_chat import published
from workers.work import Result, Work


async def run_expand(work: Work) -> Expansion:
    """By a model, by a pasted reply, or not at all, as submitted."""
    asked = work.claim.inputs["expansion"]
    if asked["origin"] == Origin.NONE:
        return no_expansion()
    if asked["origin"] == Origin.PASTED:
        return pasted_expansion(asked["reply"])
    query = await question(work)
    asked_by = await work.template(TemplateTag.QUERY_EXPANSION)
    return await expand_query(
        query.original_query,
        template=asked_by.template_content,
        chat=work.resampling_chat,
        model=asked_model(work),
        settings=work.settings,
        n=work.preset.expansion.n,
    )


async def run_embed(work: Work) -> Result[EmbeddedQuery]:
    """All of its texts in one call, by the model that the corpora were embedded by."""
    query = await question(work)
    searched = await searched_corpora(work, query)
    embedder = work.reusing_embedder(work.settings.embedding.dimension)
    embedded, vectors = await embed_query(
        query.original_query,
        await work.output(Expansion),
        embedder=embedder,
        digest=work.claim.inputs["model_digest"],
        dtypes={dtype for corpus in searched for dtype in corpus.model_dtypes},
        embedding=work.settings.embedding,
    )
    return Result(embedded, vectors, texts=embedder.texts)


async def run_retrieve(work: Work) -> RetrievedChunks:
    """Every search, and their fusion: a round trip for all vectors, and one for all texts."""
    query = await question(work)
    work.read["corpora"] = query.corpus_ids
    among = None
    if query.works.given:
        work.read["works"] = content_hash(query.works.given)
        among = await work.database.ask(matching_chunks, query.corpus_ids, query.works)
    async with _unmixed(work, query):
        return await retrieve_chunks(
            query.original_query,
            await work.output(Expansion),
            await work.output(EmbeddedQuery),
            await work.vectors(EmbeddedQuery),
            search=chunk_search(work),
            corpora=query.corpus_ids,
            among=among,
            preset=work.preset.retrieval,
        )


async def run_rerank(work: Work) -> RerankedChunks:
    """Filters, enrichment, the ranker of the preset against the question as it was asked, and a varied choice."""
    query = await question(work)
    retrieved = await work.output(RetrievedChunks)
    ids = [chunk_id for chunk_id, _ in retrieved.fused]
    found = await work.database.ask(works.by_ids, ids)
    work_ids = sorted({chunk.work_id for chunk in found.values()})
    texts = await work.database.ask(works.texts, work_ids)
    async with _unmixed(work, query):
        vectors = await work.database.ask(postings.vectors, ids)
    with advising(work, query):
        return await rerank_chunks(
            query.original_query,
            await work.output(Expansion),
            retrieved,
            chunks=found,
            works=texts,
            vectors=vectors,
            ranker=await _ranker(work, query, vectors),
            preset=work.preset.retrieval,
            allow_empty=work.preset.validation.allow_empty,
        )


async def _ranker(work: Work, query: StoredQuery, vectors: postings.ChunkVectors) -> Ranker:
    reranking, retrieval = work.preset.reranking, work.preset.retrieval
    if reranking.ranker == NO_RANKER:
        return keep_order
    cross_encoder = partial(
        by_cross_encoder,
        scorer=work.wiring.pair_scorer(reranking.model),
        preset=retrieval,
        timeout_s=work.settings.ragq.reranker_timeout_seconds,
    )
    if reranking.ranker == "cross-encoder" and reranking.without_weights == "fail":
        return cross_encoder
    lexical_scores: dict[int, float] = {}
    if retrieval.lexical_limit:
        ids = list(vectors)
        (hits,) = await chunk_search(work).lexical(
            query.corpus_ids, [query.original_query], limit=len(ids), scorer=retrieval.lexical, among=ids
        )
        lexical_scores = dict(hits)
    query_vector = (await work.vectors(EmbeddedQuery))[0]
    fusion = partial(by_score_fusion, query_vector=query_vector, chunk_vectors=vectors, lexical_scores=lexical_scores)
    return partial(cross_encoder, instead=fusion) if reranking.ranker == "cross-encoder" else fusion


async def run_validate(work: Work) -> ValidatedChunks:
    """The accepted chunks; without any the job fails, unless the preset allows that. Below the relevance floor it fails
    whatever the preset allows, before a language model is asked."""
    reranked = await work.output(RerankedChunks)
    query = await question(work)
    with advising(work, query):
        relevance = None
        floor = work.settings.ragq.relevance_floor
        if floor and reranked.chunks:
            found = await evidence(query.original_query, reranked.chunks, **await _reading(work, query))
            relevance = 0.0 if found is None else probability(found, fitted_weights()[work.embedder.name])
            refuse_below(relevance, floor)
        preset = work.preset.validation
        if preset.enabled:
            validated = await validate_chunks(
                query.original_query,
                reranked.chunks,
                template=(await work.template(TemplateTag.CHUNK_VALIDATION)).template_content,
                chat=work.chat,
                settings=work.settings,
                preset=preset,
            )
        else:
            validated = keep_all(reranked.chunks, allow_empty=preset.allow_empty)
    return validated.model_copy(update={"relevance": relevance})


async def run_consolidate(work: Work) -> ConsolidatedContext:
    """Adjacent chunks as one passage, of the markdown as it was when the chunks were ranked."""
    preset = work.preset.consolidation
    validated = await work.output(ValidatedChunks)
    hashes = (await work.output(RerankedChunks)).work_hashes
    parents = await work.database.ask(works.around, [chunk.chunk_id for chunk in validated.chunks])
    texts = await work.database.ask(works.texts, sorted({chunk.work_id for chunk in validated.chunks}))
    return consolidate_chunks(validated.chunks, parents=parents, works=texts, work_hashes=hashes, preset=preset)


async def run_augment(work: Work) -> AugmentedPrompt:
    """The prompt with its sources, by the template of the submission; it fits into the context of the model."""
    query = await question(work)
    validated = await work.output(ValidatedChunks)
    consolidated = await work.output_if_stored(ConsolidatedContext)
    asked_by = await work.template(TemplateTag(work.settings.ragq.answer_template))
    top_n = work.claim.inputs.get("top_n")
    if top_n is not None:
        work.read["top_n"] = top_n
    expansion = await work.output(Expansion)
    context_tokens = None
    if work.settings.ragq.answerer == "model":
        context_tokens = work.settings.ragq.context_tokens or await work.reported_context(asked_model(work))
        work.read["context_tokens"] = context_tokens
    return await work.database.ask(
        make_prompt,
        query.job_id,
        query.original_query,
        expansion,
        consolidated,
        validated,
        template=asked_by,
        context_tokens=context_tokens,
        max_answer_tokens=work.preset.augmentation.max_answer_tokens or work.settings.ragq.query_max_tokens,
        top_n=work.preset.augmentation.top_n_contexts if top_n is None else top_n,
    )


async def run_generate(work: Work) -> Result[Answer]:
    """The answer by a model, or of sentences of the sources; stored beside those there are. That of a model is
    published while it is written, and another sample each time the stage runs."""
    query = await question(work)
    augmented = await work.output(AugmentedPrompt)
    if work.settings.ragq.answerer == "extractive":
        validated, reading = await work.output(ValidatedChunks), await _reading(work, query)
        with advising(work, query):
            answer = await extracted_answer(query.original_query, augmented, validated.chunks, **reading)
    else:
        sample = await work.database.ask(queries.answered, query.id)
        async with published(work.database, work.claim.attempt_id) as on_text:
            answer = await generate_answer(
                augmented,
                chat=work.resampling_chat,
                model=asked_model(work),
                settings=work.settings,
                preset=work.preset.augmentation,
                sample=sample,
                on_text=on_text,
            )

    async def keep(connection: Connection) -> None:
        await queries.add_result(connection, query, answer, augmented, work.claim.attempt_id)

    return Result(answer, effect=keep)


async def _reading(work: Work, query: StoredQuery) -> dict[str, Any]:
    """By what sentences of the corpora are read, and their terms as the full-text search of these has them."""
    first, *_ = await searched_corpora(work, query)

    async def terms(texts: Sequence[str]) -> list[dict[str, int]]:
        return await work.database.ask(postings.asked_terms, texts, full_text=first.full_text or SIMPLE)

    return {
        "embedder": work.embedder,
        "terms": terms,
        "timeout_s": work.settings.embedding.query_embed_timeout_seconds,
        "language": first.language or ENGLISH,
    }


async def question(work: Work) -> StoredQuery:
    """The question as it is asked now. Raises DomainError when it is gone."""
    found = await work.database.ask(queries.of_job, work.claim.job_id)
    if found is None:
        raise DomainError(
            f"The question of job j{work.claim.job_id} is not stored any more; submit it anew.",
            FailureCategory.INPUT_CHANGED,
        )
    work.read["query"] = content_hash(found.original_query)
    return found


async def searched_corpora(work: Work, query: StoredQuery) -> list[StoredCorpus]:
    return [await work.database.ask(corpora.corpus, corpus_id) for corpus_id in query.corpus_ids]


@asynccontextmanager
async def _unmixed(work: Work, query: StoredQuery) -> AsyncIterator[None]:
    """A block that reads vectors of corpora. Raises EmbeddingArtifactMismatchError when the question has others."""
    try:
        yield
    finally:
        embedded = await work.output(EmbeddedQuery)
        for corpus in await searched_corpora(work, query):
            if has_other_vectors(corpus, embedded):
                raise EmbeddingArtifactMismatchError(
                    f"Corpus '{corpus.name}' has taken the vectors of {corpus.model} since the question was submitted; "
                    "submit it again."
                )


@contextmanager
def advising(work: Work, query: StoredQuery) -> Iterator[None]:
    """When the values of the preset leave nothing to answer from, the error names the commands to continue with."""
    try:
        yield
    except NothingRelevantError as error:
        error.advise(query.id, work.claim.job_id, work.claim.stage)
        raise


def asked_model(work: Work) -> str:
    """The model that expands or answers: the light one where it was asked for, which is noted, or that of the run."""
    full, light = work.settings.query_model, work.settings.query_light_model
    if not work.claim.inputs.get("light_model") or light == full:
        return full
    work.read["model"] = light
    return light


def chunk_search(work: Work) -> PostgresChunkSearch:
    """The search over chunks, with the preset's parameters of BM25."""
    preset = work.preset.retrieval
    return PostgresChunkSearch(work.database, k1=preset.bm25_k1, b=preset.bm25_b)


async def evaluate_split(work: Work) -> SplitAnswer:
    """The stored answer with its sources. Raises DomainError when it or its prompt is gone or changed."""
    result_id: int = work.claim.inputs["result_id"]
    found = await work.database.ask(answers.answer, result_id)
    if found is None or content_hash(found.text) != work.claim.inputs["answer_hash"]:
        raise DomainError(
            f"The answer of job j{work.claim.job_id} is not stored any more as it was; `ragq evaluate` evaluates the "
            "answers that there are.",
            FailureCategory.INPUT_CHANGED,
        )
    prompt = await work.database.ask(answers.prompt, found.job_id, found.prompt_hash)
    texts = {} if prompt is None else source_texts(prompt, found.sources)
    if len(texts) < len(found.sources):
        raise DomainError(
            f"The prompt of the answer of job j{work.claim.job_id} is not stored any more.",
            FailureCategory.INPUT_CHANGED,
        )
    work.read["answer"], work.read["prompt"] = work.claim.inputs["answer_hash"], found.prompt_hash
    return split_answer(
        found.question,
        found.text,
        labels=list(texts),
        passages={label: f"{text.path}\n\n{text.text}" for label, text in texts.items()},
        reference=found.reference_answer,
    )


async def evaluate_judge(work: Work) -> JudgedAnswer:
    """By the model of the validator."""
    return await judge_answer(await work.output(SplitAnswer), chat=work.chat, settings=work.settings)


async def evaluate_consolidate(work: Work) -> AnswerScores:
    """From the sentences and the verdicts."""
    return score_answer(await work.output(SplitAnswer), await work.output(JudgedAnswer))
