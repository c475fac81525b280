"""Maximal marginal relevance (row B 3)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.queries.ranking import Scores, passage_similarity
from tests.stages.at_defaults import select_diverse

#: 0 and 1 are alike, 2 is like neither.
TWINS: Scores = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])


def test_b3_candidates_up_to_the_limit_are_returned_unchanged() -> None:
    assert select_diverse([3.0, 2.0, 1.0], TWINS, count=3, mmr_lambda=0.0) == [0, 1, 2]
    assert select_diverse([], np.empty((0, 0)), count=3) == []


# Scores become 1, 0.95 and 0: 0.95 * l - 0.9 * (1 - l) against -0.1 * (1 - l) are equal at l = 0.8 / 1.75.
@pytest.mark.parametrize(("mmr_lambda", "selected"), [(1.0, [0, 1]), (0.46, [0, 1]), (0.45, [0, 2]), (0.0, [0, 2])])
def test_b3_lambda_weighs_the_order_of_the_scores_against_variety(mmr_lambda: float, selected: list[int]) -> None:
    assert select_diverse([3.0, 2.9, 1.0], TWINS, count=2, mmr_lambda=mmr_lambda) == selected


@pytest.mark.parametrize(
    ("one", "other", "shared"), [("black tea", "Tea black", 1.0), ("black tea", "green tea leaf", 0.25), ("", "", 0.0)]
)
def test_without_a_vector_the_shared_words_count(one: str, other: str, shared: float) -> None:
    vectors = {1: np.ones(2, dtype=np.float32)}

    assert passage_similarity([1, 2], [one, other], vectors)[0, 1] == shared


@given(st.lists(st.floats(-5, 5), max_size=8), st.integers(1, 8), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_each_candidate_is_selected_at_most_once_the_best_first(
    scores: list[float], count: int, mmr_lambda: float, seed: int
) -> None:
    similarity = np.random.default_rng(seed).random((len(scores), len(scores)))

    selected = select_diverse(sorted(scores, reverse=True), similarity, count=count, mmr_lambda=mmr_lambda)

    assert len(selected) == len(set(selected)) == min(count, len(scores))
    assert selected[:1] == [0][: len(scores)]
