"""Stage `retrieve` of a query: every search, and their fusion."""

from collections.abc import Sequence

from schemas.values.queries import EmbeddedQuery, Expansion, RetrievedChunks
from stages.queries.retrieve import LateScores, retrieve_chunks
from store.corpora.work_filter import matching_chunks
from store.questions.queries import StoredQuery
from store.runs.chain import content_hash
from workers.bindings.queries.late_interaction import late_interaction
from workers.bindings.queries.reading import chunk_search, question, searched_corpora
from workers.work import Result, Work


async def run(work: Work) -> Result[RetrievedChunks]:
    """One round trip for all vectors, one for all texts, one for the token vectors of what both found."""
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
            late_weight=preset.late_weight,
            late_scores=await _late_scores(work, query),
            top_k=preset.top_k_rrf,
        )
    )


async def _late_scores(work: Work, query: StoredQuery) -> LateScores | None:
    """None without a weight for them, and unless every corpus keeps token vectors."""
    if not work.preset.retrieval.late_weight:
        return None
    if not all(corpus.keeps_token_vectors for corpus in await searched_corpora(work, query)):
        return None

    async def of_chunks(chunk_ids: Sequence[int]) -> list[float]:
        return (await late_interaction(work, query, chunk_ids)).of_chunks(chunk_ids)

    return of_chunks
