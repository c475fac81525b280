"""How two runs of queries differ."""

from math import log2

import pytest

from schemas.values.retrieval_reports import RankingStage
from stages.reports.retrieval import retrieval_difference
from tests.stages.reports.query_builders import FEW_DRAWS, both_legs, query, query_run

LEFT = query_run(
    query("a", {"d1": 1}, both_legs([21, 11], [11], [21, 11])),
    query("b", {"d2": 1}, both_legs([21], [11], [21])),
    query("c", {"d1": 1}),
    query("d", {"d1": 1}, both_legs([11], [11], [11])),
    query("e", {"d1": 1}, both_legs([11], [11], [11])),
    settings={"retrieval.fusion": "rrf", "retrieval.rrf_k": 50},
)
RIGHT = query_run(
    query("b", {"d2": 1}, both_legs([21], [11], [21])),
    query("a", {"d1": 1}, both_legs([21, 11], [11], [11, 21])),
    query("c", {"d1": 1}, both_legs([11], [11], [11])),
    query("d", {"d1": 0, "d3": 1}, both_legs([11], [11], [11])),
    query("f", {"d1": 1}, both_legs([11], [11], [11])),
    settings={"retrieval.fusion": "zscore", "retrieval.rrf_k": 50},
    run_id=15,
)


def test_deltas_are_over_the_queries_of_both() -> None:
    found = retrieval_difference(LEFT, RIGHT, measures=FEW_DRAWS)

    delta = found.deltas[RankingStage.FUSED]["ndcg@10"]
    assert (found.left, found.right, found.common_queries, delta.queries) == ("r12", "r15", 4, 2)
    assert (delta.left, delta.right) == pytest.approx(((1 / log2(3) + 1) / 2, 1.0))
    assert delta.delta.value == pytest.approx((1 - 1 / log2(3)) / 2)
    assert found.deltas[RankingStage.DENSE]["ndcg@10"].delta.high == 0.0


def test_queries_that_moved_are_named() -> None:
    (change,) = retrieval_difference(LEFT, RIGHT, measures=FEW_DRAWS).changes

    assert (change.query, change.stage, change.right) == ("a", RankingStage.FUSED, 1.0)
