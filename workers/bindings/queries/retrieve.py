"""Stage `retrieve` of a query: both legs, and their fusion."""

from schemas.values.queries import EmbeddedQuery, Expansion, RetrievedChunks
from stages.queries.retrieve import retrieve_chunks
from workers.bindings.queries.reading import chunk_search, question
from workers.work import Result, Work


async def run(work: Work) -> Result[RetrievedChunks]:
    """One round trip for all vectors, one for all texts."""
    query = await question(work)
    preset = work.preset.retrieval
    work.read["corpus"] = query.corpus_id
    return Result(
        await retrieve_chunks(
            query.original_query,
            await work.output(Expansion),
            await work.output(EmbeddedQuery),
            await work.vectors(EmbeddedQuery),
            search=chunk_search(work),
            corpus_id=query.corpus_id,
            dense_limit=preset.dense_limit,
            lexical_limit=preset.lexical_limit,
            lexical=preset.lexical,
            fusion=preset.fusion,
            rrf_k=preset.rrf_k,
            dense_weight=preset.dense_weight,
            top_k=preset.top_k_rrf,
        )
    )
