"""Stage `retrieve`: dense and full-text search for the texts of a query, and the fusion of all."""

from collections.abc import Sequence

from schemas.values.queries import EmbeddedQuery, Expansion, Leg, QueryText, RankedList, RetrievedChunks
from stages.ports import ChunkSearch, Vectors
from stages.queries.embed import query_texts
from stages.queries.fusion import FusionSettings, fuse


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
    top_k: int,
) -> RetrievedChunks:
    """One dense list per vector, one lexical list per text except HyDE, and the first `top_k` of their fusion.

    Several corpora are searched as if they were one; with `among` only these chunks are found. The lists keep the order
    of the texts, dense ones first. A limit of 0 disables its leg, which then has no lists. Raises ValueError for an
    unknown fusion or scorer, and the errors of the search unchanged.
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
    settings = FusionSettings(rrf_k=rrf_k, dense_weight=dense_weight, lexical_limit=lexical_limit)
    return RetrievedChunks(
        corpus_id=corpora[0],
        corpus_ids=tuple(corpora),
        fusion=fusion,
        lexical=lexical,
        lists=lists,
        fused=fuse(lists, fusion=fusion, settings=settings)[:top_k],
    )
