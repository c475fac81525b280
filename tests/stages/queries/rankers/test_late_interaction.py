"""Ranker `late-interaction`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import TokenVectorsMissingError
from stages.ports import Vectors
from stages.queries.rankers.late_interaction import LateInteraction, max_sim
from tests.stages.queries.builders import candidate


def tokens(*rows: tuple[float, float]) -> Vectors:
    return np.array(rows, dtype=np.float32)


def test_each_token_of_the_question_takes_its_nearest() -> None:
    # (2, 0) finds (1, 0): 1. (0, 1) finds (3, 4): 0.8.
    assert max_sim(tokens((2, 0), (0, 1)), tokens((1, 0), (3, 4))) == pytest.approx(0.9)


def test_a_token_of_zeros_has_the_cosine_0() -> None:
    assert max_sim(tokens((0, 0), (0, 1)), tokens((0, 1))) == 0.5


async def test_chunks_are_scored_in_order() -> None:
    ranker = LateInteraction("minilm", tokens((1, 0)), {1: tokens((0, 1)), 2: tokens((0, 1), (1, 0))})

    assert await ranker.scores("?", [candidate(2), candidate(1)]) == [1.0, 0.0]
    assert ranker.name == "late-interaction minilm"


@pytest.mark.parametrize("stored", [{1: tokens((0, 1))}, {1: tokens((0, 1)), 2: np.empty((0, 2), dtype=np.float32)}])
async def test_a_chunk_without_token_vectors_is_an_error(stored: dict[int, Vectors]) -> None:
    with pytest.raises(TokenVectorsMissingError, match="1 chunks have no token vectors, chunk 2 first"):
        await LateInteraction("m", tokens((1, 0)), stored).scores("?", [candidate(1), candidate(2)])


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_token_more_in_the_chunk_never_lowers_its_score(of_query: int, of_chunk: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    query = random.normal(size=(of_query, 4)).astype(np.float32)
    chunk = random.normal(size=(of_chunk + 1, 4)).astype(np.float32)

    assert -1.00001 <= max_sim(query, chunk[:-1]) <= max_sim(query, chunk) + 1e-6
