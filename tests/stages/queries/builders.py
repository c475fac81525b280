"""Short ways to write the values of query jobs."""

from collections.abc import Sequence
from typing import Any

from schemas.values.documents import CorpusChunk
from schemas.values.queries import Leg, QueryText, RankedList, RerankedChunk


def ranked_list(leg: Leg, *hits: tuple[int, float], text: QueryText = QueryText.ORIGINAL) -> RankedList:
    return RankedList(leg=leg, text=text, hits=hits)


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
    lines: tuple[int, int] = (1, 1),
    breadcrumbs: str | None = None,
    **fields: Any,
) -> CorpusChunk:
    usual = {"work_id": 1, "parent_id": None, "level": "H2-chunk", "heading_breadcrumbs": breadcrumbs}
    return CorpusChunk(id=id_, content=content, start_line=lines[0], end_line=lines[1], **usual | fields)


def reranked(stored: CorpusChunk, *, final_score: float = 1.0, **fields: Any) -> RerankedChunk:
    scores = dict.fromkeys(("fused_score", "entity_boost", "intent_boost"), 0.0)
    ranks = {"dense_rank": None, "lexical_rank": None, "rerank_score": final_score, "final_score": final_score}
    texts = {
        "chunk_id": stored.id,
        "enriched_content": stored.content,
        **stored.model_dump(include={*RerankedChunk.model_fields}),
    }
    return RerankedChunk(**texts | scores | ranks | fields)


def by_id(*chunks: CorpusChunk) -> dict[int, CorpusChunk]:
    return {stored.id: stored for stored in chunks}


def numbered_lines(count: int) -> Sequence[str]:
    return [f"line {number}" for number in range(1, count + 1)]
