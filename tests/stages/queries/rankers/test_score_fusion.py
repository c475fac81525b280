"""Ranker `score-fusion`."""

import numpy as np
import pytest

from schemas.errors import ChunksGoneError
from schemas.values.queries import Leg, QueryText, RankedList, RetrievedChunks
from stages.queries.rankers.score_fusion import ScoreFusion, score_fusion
from tests.stages.queries.builders import candidate, dense, lexical, ranked_list

EAST, NORTH = np.eye(2, dtype=np.float32)
VECTORS = {1: EAST, 2: NORTH, 3: -EAST}


def retrieved(*lists: RankedList) -> RetrievedChunks:
    return RetrievedChunks(corpus_id=1, fusion="zscore", lexical="bm25", lists=lists, fused=())


async def scores(ranker: ScoreFusion) -> list[float]:
    found = await ranker.scores("?", [candidate(1), candidate(2), candidate(3)])
    return [round(score, 4) for score in found]


async def test_both_z_scores_are_added_over_the_candidates() -> None:
    texts = ranked_list(Leg.LEXICAL, (2, 3.0), (1, 2.0), (3, 1.0))

    # z(1, 0, -1) = 1.2247, 0, -1.2247 and z(2, 3, 1) = 0, 1.2247, -1.2247
    assert await scores(score_fusion(retrieved(texts), EAST, VECTORS, lexical_limit=3)) == [1.2247, 1.2247, -2.4495]


async def test_cosines_count_for_chunks_that_full_text_alone_found() -> None:
    ranker = score_fusion(retrieved(dense(1), lexical(2)), EAST, VECTORS, lexical_limit=5)

    assert ranker.cosines == {1: 1.0, 2: 0.0, 3: -1.0}


@pytest.mark.parametrize(("limit", "floor"), [(2, 1.0), (3, 0.0)])
async def test_a_chunk_that_full_text_left_out_has_the_last_score_of_a_full_list_else_0(
    limit: int, floor: float
) -> None:
    ranker = score_fusion(retrieved(lexical(2, 1)), EAST, VECTORS, lexical_limit=limit)

    assert (ranker.lexical, ranker.lexical_floor) == ({2: 2.0, 1: 1.0}, floor)


async def test_only_the_question_as_it_was_asked_counts() -> None:
    of_a_phrase = lexical(3, text=QueryText.MQE)

    assert await scores(score_fusion(retrieved(of_a_phrase), EAST, VECTORS, lexical_limit=5)) == [1.2247, 0.0, -1.2247]


async def test_a_candidate_that_lost_its_vector_is_an_error() -> None:
    with pytest.raises(ChunksGoneError, match="chunk 3 first"):
        await scores(score_fusion(retrieved(dense(1, 2, 3)), EAST, {1: EAST, 2: NORTH}, lexical_limit=5))
