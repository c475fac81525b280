"""Short ways to write the values of query jobs."""

from collections.abc import Sequence

from schemas.values.documents import CorpusChunk
from schemas.values.queries import Hit, Leg, QueryText, RankedList, RerankedChunk


def ranked_list(leg: Leg, *hits: tuple[int, float], text: QueryText = QueryText.ORIGINAL) -> RankedList:
    """A list of (chunk id, score), best first."""
    return RankedList(leg=leg, text=text, hits=tuple(Hit(chunk_id=id_, score=score) for id_, score in hits))


def dense(*ids: int, text: QueryText = QueryText.ORIGINAL) -> RankedList:
    """A dense list of chunks whose cosines fall by a tenth."""
    return ranked_list(Leg.DENSE, *((id_, 1 - place / 10) for place, id_ in enumerate(ids)), text=text)


def lexical(*ids: int, text: QueryText = QueryText.ORIGINAL) -> RankedList:
    """A lexical list of chunks whose scores fall by 1 and end at 1."""
    return ranked_list(Leg.LEXICAL, *((id_, float(len(ids) - place)) for place, id_ in enumerate(ids)), text=text)


def chunk(
    id_: int = 1,
    content: str = "some content",
    *,
    work_id: int = 1,
    parent_id: int | None = None,
    level: str = "H2-chunk",
    lines: tuple[int, int] = (1, 1),
    breadcrumbs: str | None = None,
) -> CorpusChunk:
    """A chunk as it is stored."""
    return CorpusChunk(
        id=id_,
        work_id=work_id,
        parent_id=parent_id,
        level=level,
        content=content,
        heading_breadcrumbs=breadcrumbs,
        start_line=lines[0],
        end_line=lines[1],
    )


def reranked(stored: CorpusChunk, *, final_score: float = 1.0, enriched: str | None = None) -> RerankedChunk:
    """A reranked chunk."""
    return RerankedChunk(
        **stored.model_dump(exclude={"id"}),
        chunk_id=stored.id,
        enriched_content=enriched or stored.content,
        fused_score=0.0,
        dense_rank=None,
        lexical_rank=None,
        rerank_score=final_score,
        entity_boost=0.0,
        intent_boost=0.0,
        final_score=final_score,
    )


def by_id(*chunks: CorpusChunk) -> dict[int, CorpusChunk]:
    """The chunks by their ids."""
    return {stored.id: stored for stored in chunks}


def numbered_lines(count: int) -> Sequence[str]:
    """`line 1`, `line 2`, ..."""
    return [f"line {number}" for number in range(1, count + 1)]


def candidate(id_: int, content: str = "some content", *, fused_score: float = 0.0) -> RerankedChunk:
    """A chunk that is to be ranked."""
    return reranked(chunk(id_, content), final_score=0.0).model_copy(update={"fused_score": fused_score})
