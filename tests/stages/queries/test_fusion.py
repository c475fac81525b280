"""Fusions (row B 2)."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.values.queries import FusedHit, Leg, RankedList
from stages.queries.retrieve import FUSIONS, fuse
from tests.stages.at_defaults import fusion_settings
from tests.stages.queries.builders import dense, lexical, ranked_list


def fused(*lists: RankedList, fusion: str = "rrf", **settings: float) -> dict[int, float]:
    """The fused scores, rounded, best first."""
    hits = fuse(lists, fusion=fusion, settings=fusion_settings(**settings))  # type: ignore[arg-type]
    return {hit.chunk_id: round(hit.fused_score, 7) for hit in hits}


def test_b2_ranks_in_lists_that_weigh_the_same_are_added_as_their_fractions() -> None:
    assert fused(dense(7), lexical(7)) == {7: 0.0392157}  # 2 / 51
    assert fused(dense(7), lexical(1, 2, 3, 4, 7))[7] == 0.0377897  # 1 / 51 + 1 / 55
    assert fused(dense(7), dense(7), lexical(7), rrf_k=1) == {7: 1.5}


def test_b2_the_union_is_fused_and_ties_keep_first_seen_order_dense_first() -> None:
    hits = fuse([dense(9, 4), lexical(1, 4)], fusion="rrf", settings=fusion_settings())

    assert hits == (
        FusedHit(chunk_id=4, fused_score=2 / 52, dense_rank=2, lexical_rank=2),
        FusedHit(chunk_id=9, fused_score=1 / 51, dense_rank=1, lexical_rank=None),
        FusedHit(chunk_id=1, fused_score=1 / 51, dense_rank=None, lexical_rank=1),
    )


def test_z_scores_of_both_legs_are_added_by_weight() -> None:
    lists = [ranked_list(Leg.DENSE, (1, 0.9), (2, 0.5)), ranked_list(Leg.LEXICAL, (2, 8.0), (1, 4.0))]

    # Both legs have z-scores of 1 and -1.
    assert fused(*lists, fusion="zscore", dense_weight=0.75, lexical_limit=2) == {1: 0.5, 2: -0.5}


def test_unit_ranges_of_both_legs_are_added_by_weight() -> None:
    lists = [
        ranked_list(Leg.DENSE, (1, 0.9), (3, 0.6), (2, 0.5)),
        ranked_list(Leg.LEXICAL, (2, 8.0), (3, 7.0), (1, 4.0)),
    ]

    assert fused(*lists, fusion="minmax", dense_weight=0.6, lexical_limit=3) == {1: 0.6, 3: 0.45, 2: 0.4}


def test_a_chunk_that_a_list_leaves_out_gets_the_last_score_of_a_full_one_and_0_of_one_with_room() -> None:
    lists = [dense(1, 2), ranked_list(Leg.LEXICAL, (3, 8.0), (1, 4.0))]

    assert fused(*lists, fusion="minmax", lexical_limit=2) == {1: 0.5, 3: 0.5, 2: 0.0}
    assert fused(*lists, fusion="minmax", lexical_limit=5) == {1: 0.75, 3: 0.5, 2: 0.0}


_IDS = st.lists(st.integers(1, 8), unique=True, max_size=6)


@given(st.sampled_from(sorted(FUSIONS)), st.lists(_IDS, max_size=4), st.lists(_IDS, max_size=4))
def test_every_found_chunk_is_fused_once_best_first(
    fusion: str, dense_ids: list[list[int]], texts: list[list[int]]
) -> None:
    lists = [*(dense(*ids) for ids in dense_ids), *(lexical(*ids) for ids in texts)]

    hits = fuse(lists, fusion=fusion, settings=fusion_settings())

    scores = [hit.fused_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert sorted(hit.chunk_id for hit in hits) == sorted({id_ for ids in dense_ids + texts for id_ in ids})


@given(st.sampled_from(sorted(FUSIONS)), _IDS, _IDS)
def test_a_chunk_that_is_first_everywhere_is_first(fusion: str, dense_ids: list[int], text_ids: list[int]) -> None:
    hits = fuse([dense(9, *dense_ids), lexical(9, *text_ids)], fusion=fusion, settings=fusion_settings())

    assert hits[0].chunk_id == 9
