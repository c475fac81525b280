"""Stage `rerank` of a query: filters, enrichment, a ranker, bonuses, and a varied choice."""

from schemas.values.queries import Expansion, RetrievedChunks
from stages.queries.rankers import Ranker
from stages.queries.rankers.cross_encoder import CrossEncoderRanker
from stages.queries.rankers.score_fusion import score_fusion
from stages.queries.rerank import rerank_chunks
from stages.queries.works import WorkText
from store import chunks, searchable, works
from store.database import Connection
from workers.queries.reading import question
from workers.work import Result, Work


async def rerank_of_query(work: Work) -> Result:
    """By the ranker of the preset, against the question as it was asked."""
    query = await question(work)
    preset = work.preset.retrieval
    retrieved = await work.output("retrieve", RetrievedChunks)
    ids = [hit.chunk_id for hit in retrieved.fused]
    found = await work.database.steadily(lambda connection: chunks.by_ids(connection, ids))
    work_ids = sorted({chunk.work_id for chunk in found.values()})

    async def read(connection: Connection) -> tuple[dict[int, WorkText], searchable.ChunkVectors]:
        return await works.texts(connection, work_ids), await searchable.vectors(connection, ids)

    texts, vectors = await work.database.steadily(read)
    return Result(
        await rerank_chunks(
            query.original_query,
            await work.output("expand", Expansion),
            retrieved,
            chunks=found,
            works=texts,
            vectors=vectors,
            ranker=await _ranker(work, retrieved, vectors),
            min_chars=preset.min_char_count,
            min_words=preset.min_word_count,
            min_content_length=preset.min_content_length,
            lines_above=preset.enrich_lines_above,
            lines_below=preset.enrich_lines_below,
            boost_per_entity=preset.entity_boost,
            mmr_lambda=preset.mmr_lambda,
            top_n=preset.top_n_final,
        )
    )


async def _ranker(work: Work, retrieved: RetrievedChunks, vectors: searchable.ChunkVectors) -> Ranker:
    preset = work.preset
    if preset.reranking.ranker == "cross-encoder":
        return CrossEncoderRanker(
            work.pair_scorer(preset.reranking.model),
            timeout_s=work.settings.ragq.reranker_timeout_seconds,
            batch_size=preset.retrieval.reranker_batch_size,
            max_tokens=preset.retrieval.reranker_max_length,
        )
    original = (await work.vectors("embed"))[0]
    return score_fusion(retrieved, original, vectors, lexical_limit=preset.retrieval.lexical_limit)
