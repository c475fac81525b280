"""Stage `retrieve` of a query: every search, and their fusion."""

from schemas.values.queries import EmbeddedQuery, Expansion, RetrievedChunks
from stages.queries.retrieve import retrieve_chunks
from store.corpora.work_filter import matching_chunks
from store.runs.chain import content_hash
from workers.bindings.queries.reading import chunk_search, question
from workers.work import Result, Work


async def run(work: Work) -> Result[RetrievedChunks]:
    """One round trip for all vectors, and one for all texts."""
    query = await question(work)
    preset = work.preset.retrieval
    work.read["corpus"] = query.corpus_id
    if query.other_corpus_ids:
        work.read["corpus_ids"] = query.corpus_ids
    among = None
    if query.works.given:
        work.read["works"] = content_hash(query.works.given)
        among = await work.database.with_retry(
            lambda connection: matching_chunks(connection, query.corpus_ids, query.works)
        )
    return Result(
        await retrieve_chunks(
            query.original_query,
            await work.output(Expansion),
            await work.output(EmbeddedQuery),
            await work.vectors(EmbeddedQuery),
            search=chunk_search(work),
            corpora=query.corpus_ids,
            among=among,
            dense_limit=preset.dense_limit,
            lexical_limit=preset.lexical_limit,
            lexical=preset.lexical,
            fusion=preset.fusion,
            rrf_k=preset.rrf_k,
            dense_weight=preset.dense_weight,
            top_k=preset.top_k_rrf,
        )
    )
