"""Stage `retrieve`: dense and full-text search for the texts of a query, late interaction, and the fusion of all."""

from collections.abc import Awaitable, Callable, Sequence

from schemas.values.queries import EmbeddedQuery, Expansion, Hit, Leg, QueryText, RankedList, RetrievedChunks
from stages.ports import ChunkSearch, Vectors
from stages.queries.embed import query_texts
from stages.queries.fusion import FusionSettings, fuse

LateScores = Callable[[Sequence[int]], Awaitable[Sequence[float]]]
"""The score of each of these chunks by late interaction, in order."""


async def retrieve_chunks(
    query: str,
    expansion: Expansion,
    embedded: EmbeddedQuery,
    vectors: Vectors,
    *,
    search: ChunkSearch,
    corpora: Sequence[int],
    among: Sequence[int] | None = None,
    dense_limit: int,
    lexical_limit: int,
    lexical: str,
    fusion: str,
    rrf_k: int,
    dense_weight: float,
    late_weight: float,
    late_scores: LateScores | None,
    top_k: int,
) -> RetrievedChunks:
    """One dense list per vector, one lexical list per text except HyDE, and the first `top_k` of their fusion.

    Several corpora are searched as if they were one; with `among` only these chunks are found. The lists keep the order
    of the texts, dense ones first. A limit of 0 disables its leg, which then has no lists. With `late_scores` there is
    one more list, of all chunks of the others by these scores; without it `late_weight` has
    no effect. Raises ValueError for an unknown fusion or scorer, and the errors of the search unchanged.
    """
    dense_lists, lexical_lists = [], []
    if dense_limit:
        found = await search.dense(corpora, vectors, limit=dense_limit, among=among)
        dense_lists = [
            RankedList(leg=Leg.DENSE, text=kind, hits=tuple(hits))
            for kind, hits in zip(embedded.texts, found, strict=True)
        ]
    if lexical_limit:
        texts = [(kind, text) for kind, text in query_texts(query, expansion) if kind is not QueryText.HYDE]
        asked = [text for _, text in texts]
        found = await search.lexical(corpora, asked, limit=lexical_limit, scorer=lexical, among=among)
        lexical_lists = [
            RankedList(leg=Leg.LEXICAL, text=kind, hits=tuple(hits))
            for (kind, _), hits in zip(texts, found, strict=True)
        ]
    lists = (*dense_lists, *lexical_lists)
    if late_scores is not None and (found_ids := sorted({hit.chunk_id for ranked in lists for hit in ranked.hits})):
        scores = await late_scores(found_ids)
        hits = (Hit(chunk_id=id_, score=score) for id_, score in zip(found_ids, scores, strict=True))
        late = sorted(hits, key=lambda hit: -hit.score)
        lists = (*lists, RankedList(leg=Leg.LATE_INTERACTION, text=QueryText.ORIGINAL, hits=tuple(late)))
    settings = FusionSettings(
        rrf_k=rrf_k, dense_weight=dense_weight, late_weight=late_weight, lexical_limit=lexical_limit
    )
    return RetrievedChunks(
        corpus_id=corpora[0],
        corpus_ids=tuple(corpora),
        fusion=fusion,
        lexical=lexical,
        lists=lists,
        fused=fuse(lists, fusion=fusion, settings=settings)[:top_k],
    )
