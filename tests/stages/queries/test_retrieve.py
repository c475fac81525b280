"""Vectors of a question, both searches, and their fusion."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.queries import EmbeddedQuery, Expansion, Hit, Leg, Origin, QueryText, RankedList, RetrievedChunks
from stages.ports import Vectors
from stages.queries.expand import no_expansion
from stages.queries.retrieve import embed_query, fuse, query_texts, retrieve_chunks
from tests.fakes.embedder import FakeEmbedder
from tests.stages.at_defaults import RUN, retrieval
from tests.stages.queries.builders import dense, lexical, ranked_list

EXPANSION = Expansion(origin=Origin.MODEL, queries=("black tea", "leaf enzymes"), hyde_answer="They oxidise.")
TEXTS = tuple(kind for kind, _ in query_texts("Why?", EXPANSION))
EMBEDDED = EmbeddedQuery(model="m", model_digest="d", dimension=2, texts=TEXTS)
VECTORS = np.eye(4, 2, dtype=np.float32)


@dataclass
class CountingSearch:
    """A ChunkSearch that finds chunks 1, 2, ... by vectors and 101, 102, ... by texts, and records its calls."""

    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def dense(self, corpora: Sequence[int], vectors: Vectors, *, limit: int, **_: Any) -> list[list[Hit]]:
        self.asked.append(("dense", *corpora, len(vectors), limit))
        return [_hits(1, limit) for _ in vectors]

    async def lexical(
        self, corpora: Sequence[int], texts: Sequence[str], *, limit: int, scorer: str, **_: Any
    ) -> list[list[Hit]]:
        self.asked.append(("lexical", *corpora, tuple(texts), limit, scorer))
        return [_hits(101, limit) for _ in texts]


def _hits(first: int, limit: int) -> list[Hit]:
    return [(first + place, 1 / (1 + place)) for place in range(limit)]


async def retrieve(search: CountingSearch, **options: Any) -> RetrievedChunks:
    preset = retrieval(**options)
    return await retrieve_chunks("Why?", EXPANSION, EMBEDDED, VECTORS, search=search, corpora=[5], preset=preset)


async def test_b2_each_leg_is_asked_once_and_the_hypothetical_answer_is_searched_by_its_vector_alone() -> None:
    search = CountingSearch()

    retrieved = await retrieve(search)

    assert search.asked == [("dense", 5, 4, 19), ("lexical", 5, ("Why?", "black tea", "leaf enzymes"), 5, "bm25")]
    assert [(ranked.leg, ranked.text) for ranked in retrieved.lists] == [
        *((Leg.DENSE, text) for text in TEXTS),
        *((Leg.LEXICAL, text) for text in TEXTS[:-1]),
    ]


async def test_b2_a_limit_of_0_switches_a_leg_off() -> None:
    search = CountingSearch()

    assert {ranked.leg for ranked in (await retrieve(search, dense_limit=0)).lists} == {Leg.LEXICAL}
    assert (await retrieve(search, dense_limit=0, lexical_limit=0)).fused == ()
    assert [question[0] for question in search.asked] == ["lexical"]


async def test_lists_are_kept_as_they_were_found_and_the_fused_one_is_cut() -> None:
    retrieved = await retrieve(CountingSearch(), dense_limit=2, lexical_limit=1, fusion="rrf", top_k_rrf=2)

    assert retrieved.lists[0] == RankedList(leg=Leg.DENSE, text=QueryText.ORIGINAL, hits=((1, 1.0), (2, 0.5)))
    assert (retrieved.fusion, retrieved.lexical, len(retrieved.lists)) == ("rrf", "bm25", 7)
    # 4 dense lists against 3 lexical ones.
    assert [chunk_id for chunk_id, _ in retrieved.fused] == [1, 2]
    assert [retrieved.best_ranks(leg) for leg in Leg] == [{1: 1, 2: 2}, {101: 1}]


def fused(*lists: RankedList, fusion: str = "rrf", **settings: float) -> dict[int, float]:
    hits = fuse(lists, retrieval(fusion=fusion, **settings))
    return {chunk_id: round(score, 7) for chunk_id, score in hits}


def test_b2_ranks_in_lists_that_weigh_the_same_are_added_as_their_fractions() -> None:
    assert fused(dense(7), lexical(7)) == {7: 0.0392157}  # 2 / 51
    assert fused(dense(7), lexical(1, 2, 3, 4, 7))[7] == 0.0377897  # 1 / 51 + 1 / 55
    assert fused(dense(7), dense(7), lexical(7), rrf_k=1) == {7: 1.5}


def test_b2_the_union_is_fused_and_ties_keep_first_seen_order_dense_first() -> None:
    hits = fuse([dense(9, 4), lexical(1, 4)], retrieval(fusion="rrf"))

    assert hits == [(4, 2 / 52), (9, 1 / 51), (1, 1 / 51)]


UNLIKE = [ranked_list(Leg.DENSE, (1, 0.9), (2, 0.5)), ranked_list(Leg.LEXICAL, (2, 8.0), (1, 4.0))]
PARTLY = [dense(1, 2), ranked_list(Leg.LEXICAL, (3, 8.0), (1, 4.0))]


@pytest.mark.parametrize(
    ("lists", "dense_weight", "lexical_limit", "scores"),
    [
        # Both legs have z-scores of 1 and -1.
        pytest.param(UNLIKE, 0.75, 2, {1: 0.5, 2: -0.5}, id="two chunks"),
        # By words, chunk 2 has the last score of the list, 4, or 0.
        pytest.param(PARTLY, 0.0, 2, {3: 2**0.5, 1: -(0.5**0.5), 2: -(0.5**0.5)}, id="the last score of a full list"),
        pytest.param(PARTLY, 0.0, 5, {3: 1.5**0.5, 1: 0.0, 2: -(1.5**0.5)}, id="0 of a list with room"),
    ],
)
def test_scores_of_both_legs_are_added_by_weight_also_of_a_chunk_that_one_leaves_out(
    lists: list[RankedList], dense_weight: float, lexical_limit: int, scores: dict[int, float]
) -> None:
    weighted = {"dense_weight": dense_weight, "lexical_limit": lexical_limit}
    assert fused(*lists, fusion="zscore", **weighted) == pytest.approx(scores)


_IDS = st.lists(st.integers(1, 8), unique=True, max_size=6)


@given(st.sampled_from(["rrf", "zscore"]), st.lists(_IDS, max_size=4), st.lists(_IDS, max_size=4))
def test_every_found_chunk_is_fused_once(fusion: str, dense_ids: list[list[int]], texts: list[list[int]]) -> None:
    lists = [*(dense(*ids) for ids in dense_ids), *(lexical(*ids) for ids in texts)]

    hits = fuse(lists, retrieval(fusion=fusion))

    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    assert sorted(chunk_id for chunk_id, _ in hits) == sorted({id_ for ids in dense_ids + texts for id_ in ids})


async def test_all_texts_are_embedded_in_one_call_in_order_and_none_with_other_weights_than_the_corpus() -> None:
    embedder = FakeEmbedder()
    settings = RUN.embedding.model_copy(update={"dimension": 8})
    embed = partial(embed_query, "Why?", embedder=embedder, embedding=settings)

    embedded, vectors = await embed(EXPANSION, digest="digest of fake")
    alone, _ = await embed(no_expansion(), digest="digest of fake")
    with pytest.raises(EmbeddingArtifactMismatchError, match="weights abcdef, and model 'fake' now has digest of fa"):
        await embed(EXPANSION, digest="abcdef")

    assert embedder.calls == [["Why?", "black tea", "leaf enzymes", "They oxidise."], ["Why?"]]
    texts = (QueryText.ORIGINAL, QueryText.MQE, QueryText.MQE, QueryText.HYDE)
    of_fake: dict[str, Any] = {"model": "fake", "model_digest": "digest of fake", "dtype": "float32"}
    assert embedded == EmbeddedQuery(dimension=8, texts=texts, **of_fake)
    assert (alone.texts, vectors.shape) == (texts[:1], (4, 8))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
