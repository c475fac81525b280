"""The rankings of a query, converted from chunks to documents, which judgements refer to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemas.values.queries import Leg, QueryText, RankedList, RetrievedChunks
from schemas.values.query_runs import RankedQuery
from schemas.values.retrieval_reports import RankingStage


def document_rankings(query: RankedQuery, documents: Mapping[int, str]) -> dict[RankingStage, tuple[str, ...]] | None:
    """Every ranking that the query's job stored, in the order of the stages; None if one of their chunks is deleted.

    A document has the rank of its best chunk.
    """
    rankings = dict(_chunk_rankings(query))
    if any(chunk_id not in documents for ranking in rankings.values() for chunk_id in ranking):
        return None
    return {
        stage: tuple(dict.fromkeys(documents[chunk_id] for chunk_id in ranking)) for stage, ranking in rankings.items()
    }


def _chunk_rankings(query: RankedQuery) -> Iterator[tuple[RankingStage, Sequence[int]]]:
    if query.retrieved is not None:
        yield from _of_leg(query.retrieved, Leg.DENSE, RankingStage.DENSE, RankingStage.DENSE_ALL)
        yield from _of_leg(query.retrieved, Leg.LEXICAL, RankingStage.LEXICAL, RankingStage.LEXICAL_ALL)
        yield RankingStage.FUSED, [hit.chunk_id for hit in query.retrieved.fused]
    if query.ranking is not None:
        yield RankingStage.RERANKED, query.ranking
    if query.selected is not None:
        yield RankingStage.SELECTED, query.selected
    if query.groups is not None:
        yield RankingStage.CONSOLIDATED, [chunk_id for group in query.groups for chunk_id in group]


def _of_leg(
    retrieved: RetrievedChunks, leg: Leg, alone: RankingStage, together: RankingStage
) -> Iterator[tuple[RankingStage, Sequence[int]]]:
    """A disabled leg has no lists, and so no ranking."""
    lists = [found for found in retrieved.lists if found.leg is leg]
    for found in lists:
        if found.text is QueryText.ORIGINAL:
            yield alone, [hit.chunk_id for hit in found.hits]
    if len(lists) > 1:
        yield together, _by_best_rank(lists)


def _by_best_rank(lists: Iterable[RankedList]) -> list[int]:
    """Every chunk of the lists by its best rank in any; of equal ranks the earlier list first."""
    best: dict[int, int] = {}
    for found in lists:
        for rank, hit in enumerate(found.hits):
            best[hit.chunk_id] = min(rank, best.get(hit.chunk_id, rank))
    return sorted(best, key=lambda chunk_id: best[chunk_id])
