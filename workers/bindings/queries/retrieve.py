"""Stage `retrieve` of a query: both legs, and their fusion."""

from schemas.values.queries import EmbeddedQuery, Expansion
from stages.queries.retrieve import retrieve_chunks
from workers.bindings.queries.reading import chunk_search, question
from workers.work import Result, Work


async def retrieve_of_query(work: Work) -> Result:
    """One round trip for all vectors, one for all texts."""
    query = await question(work)
    preset = work.preset.retrieval
    work.read["corpus"] = query.corpus_id
    return Result(
        await retrieve_chunks(
            query.original_query,
            await work.output("expand", Expansion),
            await work.output("embed", EmbeddedQuery),
            await work.vectors("embed"),
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
