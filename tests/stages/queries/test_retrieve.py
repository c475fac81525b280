"""Stage `retrieve`: which searches run, and which of their results are passed on (row B 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schemas.values.queries import EmbeddedQuery, Expansion, Hit, Leg, Origin, QueryText, RankedList, RetrievedChunks
from stages.ports import Vectors
from stages.queries.retrieve import query_texts
from tests.stages.at_defaults import retrieve_chunks

EXPANSION = Expansion(origin=Origin.MODEL, queries=("black tea", "leaf enzymes"), hyde_answer="They oxidise.")
TEXTS = tuple(kind for kind, _ in query_texts("Why?", EXPANSION))
EMBEDDED = EmbeddedQuery(model="m", model_digest="d", dimension=2, texts=TEXTS)
VECTORS = np.eye(4, 2, dtype=np.float32)


@dataclass
class CountingSearch:
    """A ChunkSearch that finds chunks 1, 2, ... by vectors and 101, 102, ... by texts, and records its calls."""

    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def dense(
        self, corpora: Sequence[int], vectors: Vectors, *, limit: int, among: Sequence[int] | None = None
    ) -> list[list[Hit]]:
        self.asked.append(("dense", *corpora, len(vectors), limit))
        return [_hits(1, limit) for _ in vectors]

    async def lexical(
        self,
        corpora: Sequence[int],
        texts: Sequence[str],
        *,
        limit: int,
        scorer: str,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        self.asked.append(("lexical", *corpora, tuple(texts), limit, scorer))
        return [_hits(101, limit) for _ in texts]

    async def lexical_scores(
        self, corpora: Sequence[int], text: str, chunk_ids: Sequence[int], *, scorer: str
    ) -> dict[int, float]:
        raise AssertionError("The stage asks for lists.")


def _hits(first: int, limit: int) -> list[Hit]:
    return [Hit(chunk_id=first + place, score=1 / (1 + place)) for place in range(limit)]


async def retrieve(search: CountingSearch, **options: Any) -> RetrievedChunks:
    return await retrieve_chunks("Why?", EXPANSION, EMBEDDED, VECTORS, search=search, corpora=[5], **options)


async def test_each_leg_is_asked_once_with_the_defaults_of_the_seed() -> None:
    search = CountingSearch()

    await retrieve(search)

    assert search.asked == [("dense", 5, 4, 19), ("lexical", 5, ("Why?", "black tea", "leaf enzymes"), 5, "bm25")]


async def test_b2_the_hypothetical_answer_is_searched_by_its_vector_alone() -> None:
    retrieved = await retrieve(CountingSearch())

    assert [ranked.text for ranked in retrieved.lists if ranked.leg is Leg.DENSE][-1] is QueryText.HYDE
    assert [ranked.text for ranked in retrieved.lists if ranked.leg is Leg.LEXICAL] == [
        QueryText.ORIGINAL,
        QueryText.MQE,
        QueryText.MQE,
    ]


async def test_b2_a_limit_of_0_switches_a_leg_off() -> None:
    search = CountingSearch()

    retrieved = await retrieve(search, dense_limit=0)

    assert [question[0] for question in search.asked] == ["lexical"]
    assert {ranked.leg for ranked in retrieved.lists} == {Leg.LEXICAL}
    assert (await retrieve(search, dense_limit=0, lexical_limit=0)).fused == ()


async def test_lists_are_kept_as_they_were_found_and_the_fused_one_is_cut() -> None:
    retrieved = await retrieve(CountingSearch(), dense_limit=2, lexical_limit=1, fusion="rrf", top_k=2)

    assert retrieved.lists[0] == RankedList(
        leg=Leg.DENSE, text=QueryText.ORIGINAL, hits=(Hit(chunk_id=1, score=1.0), Hit(chunk_id=2, score=0.5))
    )
    assert (retrieved.corpus_id, retrieved.fusion, retrieved.lexical, len(retrieved.lists)) == (5, "rrf", "bm25", 7)
    # 4 dense lists against 3 lexical ones.
    assert [hit.chunk_id for hit in retrieved.fused] == [1, 2]
