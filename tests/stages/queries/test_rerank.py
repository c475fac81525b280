"""Stage `rerank`: filters of length, rankers, bonuses and a diverse selection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from schemas.errors import DomainError, FailureCategory, LLMTimeoutError, RerankerUnavailableError
from schemas.settings.preset import RetrievalPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import Expansion, Intent, Origin, RerankedChunk, RerankedChunks, RetrievedChunks
from stages.corpora.works import WorkText
from stages.queries.expand import no_expansion
from stages.queries.rerank import (
    Ranked,
    Scores,
    by_score_fusion,
    drop_short,
    enriched_content,
    entity_boost,
    intent_boost,
    passage_similarity,
)
from tests.fakes.pair_scorer import FakePairScorer
from tests.refusals import failing
from tests.stages.at_defaults import by_cross_encoder, rerank_chunks, retrieval, select_diverse
from tests.stages.queries.builders import by_id, chunk, dense, numbered_lines, reranked

WORKS = {1: WorkText("hash of tea", numbered_lines(30))}
LONG = "word " * 160
RETRIEVAL = retrieval()


@dataclass
class FixedRanker:
    """Gives each chunk the score that the test chose, and counts what it is asked about."""

    by_id: Mapping[int, float]
    asked: int = 0

    async def __call__(self, query: str, candidates: Sequence[RerankedChunk]) -> Ranked:
        self.asked += len(candidates)
        return "fixed", [self.by_id[candidate.chunk_id] for candidate in candidates]


async def rerank(
    ranker: FixedRanker,
    *chunks: CorpusChunk,
    expansion: Expansion | None = None,
    found: Sequence[int] | None = None,
    vectors: Mapping[int, Sequence[float]] | None = None,
    preset: RetrievalPreset = RETRIEVAL,
) -> RerankedChunks:
    """`found` are the numbers of these chunks, and their vectors are orthogonal, unless others are given."""
    ids = [stored.id for stored in chunks]
    rows = vectors or {id_: np.eye(8)[id_].tolist() for id_ in ids}
    fused = tuple((id_, 1 / rank) for rank, id_ in enumerate(found or ids, start=1))
    return await rerank_chunks(
        "Why?",
        expansion or no_expansion(),
        RetrievedChunks(fusion="rrf", lexical="bm25", lists=(dense(*(found or ids)),), fused=fused),
        chunks=by_id(*chunks),
        works=WORKS,
        vectors={id_: np.array(row, dtype=np.float32) for id_, row in rows.items()},
        ranker=ranker,
        preset=preset,
    )


async def test_every_score_is_kept_and_added_up() -> None:
    content = "Black tea. " + "Leaves turn. " * 80
    expansion = Expansion(origin=Origin.MODEL, intent=Intent.MECHANISM, entities=("black tea", "oolong"))
    stored = chunk(5, content, level="H3-chunk", lines=(4, 6), breadcrumbs="Tea > Colour", parent_id=2)

    result = await rerank(FixedRanker({5: 2.0}), stored, expansion=expansion)

    scores = {"rerank_score": 2.0, "entity_boost": 0.05, "intent_boost": 0.03, "final_score": 2.0 + 0.05 + 0.03}
    kept = reranked(stored, fused_score=1.0, rrf_score=1.0, dense_rank=1, **scores)
    assert result == RerankedChunks(
        ranker="fixed", chunks=(kept,), ranking=(5,), dropped={}, work_hashes={1: "hash of tea"}
    )


async def test_all_but_short_chunks_are_ranked_by_final_score_and_ties_keep_the_order_of_fusion() -> None:
    chunks = [chunk(5, "short"), *(chunk(id_, LONG) for id_ in (4, 2, 3, 1)), chunk(6, " ")]
    ranker = FixedRanker({1: 2.0, 2: 1.0, 3: 0.5, 4: 1.0})

    result = await rerank(ranker, *chunks)

    assert (result.ranking, result.dropped) == ((1, 4, 2, 3), {"min_chars": 1, "blank": 1})
    assert [kept.chunk_id for kept in result.chunks] == [1, 4, 2, 3]
    assert ranker.asked == 4


async def test_diversity_selects_and_the_chunks_keep_the_order_of_selection() -> None:
    result = await rerank(
        FixedRanker({1: 1.0, 2: 0.9, 3: 0.5}),
        *(chunk(id_, LONG) for id_ in (1, 2, 3)),
        vectors={1: (1, 0), 2: (1, 0.1), 3: (-1, 0)},
        preset=retrieval(top_n_final=2, mmr_lambda=0.3),
    )

    assert ([kept.chunk_id for kept in result.chunks], result.ranking) == ([1, 3], (1, 2, 3))


async def test_a_deleted_chunk_is_an_error() -> None:
    with failing(FailureCategory.INPUT_CHANGED, "1 retrieved chunks are no longer stored, chunk 2 first"):
        await rerank(FixedRanker({}), chunk(1, LONG), found=(1, 2))


def words(count: int, *, chars: int = 1) -> str:
    return " ".join(["x" * chars] * count)


@pytest.mark.parametrize(
    ("content", "limits", "dropped"),
    [
        (words(150), {}, {}),  # 299 characters
        (words(149, chars=2), {}, {"min_words": 1}),
        (words(150)[:249], {}, {"min_chars": 1}),
        ("x" * 250, {}, {"min_words": 1}),
        (" \n\t ", {}, {"blank": 1}),
        ("", {"min_char_count": 0, "min_word_count": 0}, {"blank": 1}),
        (words(125) + "x", {"min_word_count": 0}, {}),  # exactly 250 characters
        ("short", {"min_char_count": 0, "min_word_count": 0}, {}),
        ("short", {"min_char_count": 0, "min_word_count": 2}, {"min_words": 1}),
        ("short", {"min_char_count": 6, "min_word_count": 0}, {"min_chars": 1}),
    ],
)
def test_b2_chunks_have_at_least_150_words_and_250_characters_and_0_switches_a_filter_off(
    content: str, limits: dict[str, int], dropped: dict[str, int]
) -> None:
    filtered = drop_short([chunk(1, content)], retrieval(**limits))

    assert filtered == ([] if dropped else [chunk(1, content)], dropped)


def test_b3_each_entity_counts_once_in_any_case() -> None:
    boosts: dict[tuple[str, ...], float] = {
        ("oxidation",): 0.05,
        ("Oxidation", "BLACK TEA"): 0.10,
        ("oxid",): 0.05,  # parts of words count
        ("oolong",): 0.0,
        ("tea", "Tea", " tea "): 0.05,  # named several times
        ("", " "): 0.0,
        (): 0.0,
    }
    found = {entities: entity_boost(entities, "The OXIDATION of black Tea.", boost=0.05) for entities in boosts}
    assert found == pytest.approx(boosts)


_LEVELS = ["H1", "H2", "H3", "H4", "H5", "chunk", "sentence"]
_SHORT, _MEDIUM, _LONG = range(500), range(400, 901), range(801, 1000)
_TABLE = {
    Intent.DEFINITION: (["H2", "H3"], 0.03, _SHORT),
    Intent.MECHANISM: (["H3", "H4", "chunk"], 0.02, _LONG),
    Intent.COMPARISON: (["H2", "H3"], 0.02, _MEDIUM),
    Intent.APPLICATION: (["H4", "chunk", "sentence"], 0.02, _MEDIUM),
    Intent.STUDY_DETAIL: (["H4", "chunk"], 0.03, _LONG),
    Intent.CRITIQUE: (["H3", "H4"], 0.02, _MEDIUM),
}


@pytest.mark.parametrize("intent", Intent)
def test_b3_each_intent_prefers_its_levels_and_its_length(intent: Intent) -> None:
    levels, boost, lengths = _TABLE[intent]
    other = min({*range(1000)} - {*lengths})

    boosts = {level: intent_boost(intent, level=level, chars=other) for level in _LEVELS}
    fitting = [chars for chars in range(1000) if intent_boost(intent, level="H1", chars=chars) == 0.01]

    assert boosts == {level: boost if level in levels else 0.0 for level in _LEVELS}
    assert fitting == [*lengths]


def test_b3_content_under_a_heading_counts_as_its_level_and_no_intent_has_no_bonus() -> None:
    assert intent_boost(Intent.CRITIQUE, level="H3-chunk", chars=0) == 0.02
    assert intent_boost(Intent.CRITIQUE, level="H2-chunk", chars=0) == 0.0
    assert intent_boost(None, level="H2", chars=100) == 0.0


#: 0 and 1 are alike, 2 is like neither.
TWINS: Scores = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])


def test_b3_candidates_up_to_the_limit_are_returned_unchanged() -> None:
    assert select_diverse([3.0, 2.0, 1.0], TWINS, count=3, mmr_lambda=0.0) == [0, 1, 2]
    assert select_diverse([], np.empty((0, 0)), count=3) == []


# Scores become 1, 0.95 and 0: 0.95 * l - 0.9 * (1 - l) against -0.1 * (1 - l) are equal at l = 0.8 / 1.75.
@pytest.mark.parametrize(("mmr_lambda", "selected"), [(1.0, [0, 1]), (0.46, [0, 1]), (0.45, [0, 2]), (0.0, [0, 2])])
def test_b3_lambda_weighs_the_order_of_the_scores_against_variety(mmr_lambda: float, selected: list[int]) -> None:
    assert select_diverse([3.0, 2.9, 1.0], TWINS, count=2, mmr_lambda=mmr_lambda) == selected


def test_without_a_vector_the_shared_words_count() -> None:
    def shared(one: str, other: str) -> float:
        return float(passage_similarity([1, 2], [one, other], {1: np.ones(2, dtype=np.float32)})[0, 1])

    assert shared("black tea", "Tea black") == 1.0
    assert shared("black tea", "green tea leaf") == 0.25
    assert shared("", "") == 0.0


EAST, NORTH = np.eye(2, dtype=np.float32)
VECTORS = {1: EAST, 2: NORTH, 3: -EAST}
FUSION = partial(by_score_fusion, query_vector=EAST, chunk_vectors=VECTORS, lexical_scores={2: 3.0, 1: 2.0, 3: 1.0})
CANDIDATES = [reranked(chunk(id_)) for id_ in VECTORS]


async def test_the_enriched_contents_are_scored_against_the_question_in_order() -> None:
    scorer = FakePairScorer()

    candidates = [reranked(chunk(), enriched_content=text) for text in ("black tea leaf", "bridges")]
    ranked = await by_cross_encoder("why black tea", candidates, scorer=scorer, timeout_s=9, instead=FUSION)

    assert ranked == ("cross-encoder fake-cross-encoder", [1.0, -1.0])
    assert scorer.calls == [("why black tea", ["black tea leaf", "bridges"])]


async def test_both_z_scores_are_added_over_the_candidates_and_one_without_its_vector_is_an_error() -> None:
    by, scores = await FUSION("?", CANDIDATES)
    # z(1, 0, -1) = 1.2247, 0, -1.2247 and z(2, 3, 1) = 0, 1.2247, -1.2247
    assert (by, [round(score, 4) for score in scores]) == ("score-fusion", [1.2247, 1.2247, -2.4495])
    with failing(FailureCategory.INPUT_CHANGED, "chunk 4 first"):
        await FUSION("?", [*CANDIDATES, reranked(chunk(4))])


def broken(error: Exception) -> FakePairScorer:
    def fail(query: str, passage: str) -> float:
        raise error

    return FakePairScorer(fail)


async def test_without_its_weights_the_scores_of_both_searches_rank_and_the_name_states_it() -> None:
    scorer = broken(RerankerUnavailableError("bge cannot be loaded"))

    ranked = await by_cross_encoder("Why?", CANDIDATES, scorer=scorer, timeout_s=9, instead=FUSION)

    by, scores = await FUSION("Why?", CANDIDATES)
    assert ranked == (f"{by}, without the weights of {scorer.name}", scores)


async def test_other_errors_of_the_cross_encoder_are_errors() -> None:
    rank = partial(by_cross_encoder, "why", CANDIDATES, timeout_s=9, instead=FUSION)
    with pytest.raises(LLMTimeoutError):
        await rank(scorer=FakePairScorer(delay_s=99))
    with failing(FailureCategory.RERANK_ERROR, "not finite"):
        await rank(scorer=broken(DomainError("not finite", FailureCategory.RERANK_ERROR)))


def numbered(first: int, last: int) -> str:
    return "\n".join(numbered_lines(30)[first - 1 : last])


@pytest.mark.parametrize(
    ("lines", "more", "enriched"),
    [
        pytest.param((4, 5), {}, f"short\n\n{numbered(6, 18)}", id="13 lines below"),
        pytest.param((4, 5), {"above": 2, "below": 1}, "line 2\nline 3\n\nshort\n\nline 6", id="the nearest above"),
        pytest.param((1, 28), {"above": 9}, f"short\n\n{numbered(29, 30)}", id="none beyond the ends"),
        pytest.param((1, 30), {"above": 9}, "short", id="the whole work"),
    ],
)
def test_a_short_chunk_gets_the_lines_around_it(lines: tuple[int, int], more: dict[str, int], enriched: str) -> None:
    preset = retrieval(**{f"enrich_lines_{where}": count for where, count in more.items()})
    assert enriched_content(chunk(content="short", lines=lines), WORKS[1], preset) == enriched
