"""Filters of length, rankers, bonuses and the selection together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from schemas.errors import FailureCategory
from schemas.values.documents import CorpusChunk
from schemas.values.queries import Expansion, FusedHit, Intent, Origin, RerankedChunk, RerankedChunks, RetrievedChunks
from stages.corpora.works import WorkText
from stages.queries.expand import no_expansion
from stages.queries.ranking import Ranked, drop_short
from tests.refusals import failing
from tests.stages.at_defaults import rerank_chunks, retrieval
from tests.stages.queries.builders import by_id, chunk, numbered_lines

WORKS = {1: WorkText("Tea", "hash of tea", numbered_lines(30))}
LONG = "word " * 160


@dataclass
class FixedRanker:
    """Gives each chunk the score that the test chose, and records what it was asked."""

    by_id: Mapping[int, float]
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    async def __call__(self, query: str, candidates: Sequence[RerankedChunk]) -> Ranked:
        self.asked.append((query, [candidate.enriched_content for candidate in candidates]))
        return Ranked("fixed", [self.by_id[candidate.chunk_id] for candidate in candidates])


def retrieved(*ids: int) -> RetrievedChunks:
    fused = tuple(
        FusedHit(chunk_id=id_, fused_score=1 / rank, dense_rank=rank, lexical_rank=None)
        for rank, id_ in enumerate(ids, start=1)
    )
    return RetrievedChunks(corpus_id=1, fusion="rrf", lexical="bm25", lists=(), fused=fused)


async def rerank(
    ranker: FixedRanker,
    *chunks: CorpusChunk,
    expansion: Expansion | None = None,
    works: Mapping[int, WorkText] = WORKS,
    **settings: float,
) -> RerankedChunks:
    return await rerank_chunks(
        "Why?",
        expansion or no_expansion(),
        retrieved(*(stored.id for stored in chunks)),
        chunks=by_id(*chunks),
        works=works,
        vectors={stored.id: np.eye(8, dtype=np.float32)[stored.id] for stored in chunks},
        ranker=ranker,
        **settings,  # type: ignore[arg-type]
    )


async def test_every_score_is_kept_and_added_up() -> None:
    content = "Black tea. " + "Leaves turn. " * 80
    expansion = Expansion(origin=Origin.MODEL, intent=Intent.MECHANISM, entities=("black tea", "oolong"))
    stored = chunk(5, content, level="H3-chunk", lines=(4, 6), breadcrumbs="Tea > Colour", parent_id=2)

    result = await rerank(FixedRanker({5: 2.0}), stored, expansion=expansion)

    assert result == RerankedChunks(
        ranker="fixed",
        chunks=(
            RerankedChunk(
                chunk_id=5,
                work_id=1,
                parent_id=2,
                level="H3-chunk",
                heading_breadcrumbs="Tea > Colour",
                start_line=4,
                end_line=6,
                content=content,
                enriched_content=content,
                fused_score=1.0,
                dense_rank=1,
                lexical_rank=None,
                rerank_score=2.0,
                entity_boost=0.05,
                intent_boost=0.03,
                final_score=2.0 + 0.05 + 0.03,
            ),
        ),
        ranking=(5,),
        dropped={},
        work_hashes={1: "hash of tea"},
    )


async def test_short_chunks_are_dropped_before_ranking_and_counted() -> None:
    ranker = FixedRanker({1: 1.0})

    result = await rerank(ranker, chunk(1, LONG), chunk(2, "short"), chunk(3, " "))

    assert (result.ranking, result.dropped, len(ranker.asked)) == ((1,), {"min_chars": 1, "blank": 1}, 1)


async def test_the_ranking_is_by_final_score_and_ties_keep_the_order_of_fusion() -> None:
    chunks = [chunk(id_, LONG) for id_ in (4, 2, 3, 1)]

    result = await rerank(FixedRanker({1: 2.0, 2: 1.0, 3: 0.5, 4: 1.0}), *chunks)

    assert result.ranking == (1, 4, 2, 3)
    assert [kept.chunk_id for kept in result.chunks] == [1, 4, 2, 3]


async def test_diversity_selects_and_the_chunks_keep_the_order_of_selection() -> None:
    chunks = [chunk(id_, LONG) for id_ in (1, 2, 3)]
    vectors = {1: np.array([1, 0]), 2: np.array([1, 0.1]), 3: np.array([-1, 0])}

    result = await rerank_chunks(
        "Why?",
        no_expansion(),
        retrieved(1, 2, 3),
        chunks=by_id(*chunks),
        works=WORKS,
        vectors={id_: vector.astype(np.float32) for id_, vector in vectors.items()},
        ranker=FixedRanker({1: 1.0, 2: 0.9, 3: 0.5}),
        preset=retrieval(top_n_final=2, mmr_lambda=0.3),
    )

    assert ([kept.chunk_id for kept in result.chunks], result.ranking) == ([1, 3], (1, 2, 3))


async def test_a_deleted_chunk_is_an_error() -> None:
    with failing(FailureCategory.INPUT_CHANGED, "1 retrieved chunks are no longer stored, chunk 2 first"):
        await rerank_chunks(
            "Why?",
            no_expansion(),
            retrieved(1, 2),
            chunks=by_id(chunk(1, LONG)),
            works=WORKS,
            vectors={},
            ranker=FixedRanker({}),
        )


def words(count: int, *, chars: int = 1) -> str:
    """That many words of that many letters."""
    return " ".join(["x" * chars] * count)


@pytest.mark.parametrize(
    ("content", "dropped"),
    [
        (words(150), {}),  # 299 characters
        (words(149, chars=2), {"min_words": 1}),
        (words(150)[:249], {"min_chars": 1}),
        ("x" * 250, {"min_words": 1}),
        (" \n\t ", {"blank": 1}),
        ("", {"blank": 1}),
    ],
)
def test_b2_chunks_have_at_least_150_words_and_250_characters(content: str, dropped: dict[str, int]) -> None:
    filtered = drop_short([chunk(1, content)], retrieval())

    assert filtered == ([] if dropped else [chunk(1, content)], dropped, {})


def test_b2_exactly_250_characters_are_kept() -> None:
    content = words(125) + "x"

    assert len(content) == 250
    assert drop_short([chunk(1, content)], retrieval(min_word_count=0)) == ([chunk(1, content)], {}, {})


def test_b2_a_limit_of_0_switches_a_filter_off_but_blank_chunks_are_always_dropped() -> None:
    chunks = [chunk(1, "short"), chunk(2, "  ")]

    assert drop_short(chunks, retrieval(min_char_count=0, min_word_count=0)) == ([chunks[0]], {"blank": 1}, {})
    assert drop_short(chunks, retrieval(min_char_count=0, min_word_count=2)) == ([], {"blank": 1, "min_words": 1}, {})
    assert drop_short(chunks, retrieval(min_char_count=6, min_word_count=0)) == ([], {"blank": 1, "min_chars": 1}, {})


def test_short_chunks_are_kept_when_nothing_longer_was_found_and_counted() -> None:
    chunks = [chunk(1, "x" * 250), chunk(2, " "), chunk(3, "short")]

    filtered = drop_short(chunks, retrieval(keep_if_all_short=True))

    assert filtered == ([chunks[0], chunks[2]], {"blank": 1}, {"min_words": 1, "min_chars": 1})
