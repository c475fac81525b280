"""Stage `rerank` of a query: filters, enrichment, a ranker, bonuses, and a varied choice."""

from schemas.values.queries import EmbeddedQuery, Expansion, RerankedChunks, RetrievedChunks
from stages.queries.rankers import Ranker
from stages.queries.rankers.cross_encoder import CrossEncoderRanker
from stages.queries.rankers.none import NO_RANKER, NoRanker
from stages.queries.rankers.score_fusion import ScoreFusion
from stages.queries.rankers.without_weights import WithoutWeights
from stages.queries.rerank import rerank_chunks
from stages.queries.works import WorkText
from store.corpora import chunks, searchable, works
from store.database import Connection
from store.questions.queries import StoredQuery
from workers.bindings.queries.reading import advising, chunk_search, question
from workers.work import Result, Work


async def run(work: Work) -> Result[RerankedChunks]:
    """By the ranker of the preset, against the question as it was asked."""
    query = await question(work)
    preset = work.preset.retrieval
    retrieved = await work.output(RetrievedChunks)
    ids = [hit.chunk_id for hit in retrieved.fused]
    found = await work.database.with_retry(lambda connection: chunks.by_ids(connection, ids))
    work_ids = sorted({chunk.work_id for chunk in found.values()})

    async def read(connection: Connection) -> tuple[dict[int, WorkText], searchable.ChunkVectors]:
        return await works.texts(connection, work_ids), await searchable.vectors(connection, ids)

    texts, vectors = await work.database.with_retry(read)
    with advising(work, query):
        return Result(
            await rerank_chunks(
                query.original_query,
                await work.output(Expansion),
                retrieved,
                chunks=found,
                works=texts,
                vectors=vectors,
                ranker=await _ranker(work, query, vectors),
                min_chars=preset.min_char_count,
                min_words=preset.min_word_count,
                keep_if_all_short=preset.keep_if_all_short,
                min_content_length=preset.min_content_length,
                lines_above=preset.enrich_lines_above,
                lines_below=preset.enrich_lines_below,
                boost_per_entity=preset.entity_boost,
                mmr_lambda=preset.mmr_lambda,
                top_n=preset.top_n_final,
                allow_empty=work.preset.validation.allow_empty,
            )
        )


async def _ranker(work: Work, query: StoredQuery, vectors: searchable.ChunkVectors) -> Ranker:
    preset = work.preset
    if preset.reranking.ranker == NO_RANKER:
        return NoRanker()
    if preset.reranking.ranker == "cross-encoder":
        ranker = CrossEncoderRanker(
            work.pair_scorer(preset.reranking.model),
            timeout_s=work.settings.ragq.reranker_timeout_seconds,
            batch_size=preset.retrieval.reranker_batch_size,
            max_tokens=preset.retrieval.reranker_max_length,
        )
        if preset.reranking.without_weights == "fail":
            return ranker
        return WithoutWeights(ranker, await _score_fusion(work, query, vectors))
    return await _score_fusion(work, query, vectors)


async def _score_fusion(work: Work, query: StoredQuery, vectors: searchable.ChunkVectors) -> ScoreFusion:
    original = (await work.vectors(EmbeddedQuery))[0]
    return ScoreFusion(original, vectors, await _lexical_scores(work, query, list(vectors)))


async def _lexical_scores(work: Work, query: StoredQuery, chunk_ids: list[int]) -> dict[int, float]:
    preset = work.preset.retrieval
    if not preset.lexical_limit:
        return {}
    return await chunk_search(work).lexical_scores(
        query.corpus_ids, query.original_query, chunk_ids, scorer=preset.lexical
    )
