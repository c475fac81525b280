"""Ranker `score-fusion`."""

from collections.abc import Mapping

import numpy as np
import pytest

from schemas.errors import ChunksGoneError
from stages.queries.ranking import ScoreFusion
from tests.stages.queries.builders import candidate

EAST, NORTH = np.eye(2, dtype=np.float32)
VECTORS = {1: EAST, 2: NORTH, 3: -EAST}


async def scores(lexical: Mapping[int, float]) -> list[float]:
    ranker = ScoreFusion(EAST, VECTORS, lexical)
    found = await ranker.scores("?", [candidate(1), candidate(2), candidate(3)])
    return [round(score, 4) for score in found]


async def test_both_z_scores_are_added_over_the_candidates() -> None:
    # z(1, 0, -1) = 1.2247, 0, -1.2247 and z(2, 3, 1) = 0, 1.2247, -1.2247
    assert await scores({2: 3.0, 1: 2.0, 3: 1.0}) == [1.2247, 1.2247, -2.4495]


async def test_a_candidate_that_lost_its_vector_is_an_error() -> None:
    with pytest.raises(ChunksGoneError, match="chunk 3 first"):
        await ScoreFusion(EAST, {1: EAST}, {}).scores("?", [candidate(1), candidate(3)])
