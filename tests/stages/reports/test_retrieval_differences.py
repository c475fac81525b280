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


def test_passages_that_both_have_are_counted_by_document_and_line_without_judgements() -> None:
    found = retrieval_difference(LEFT, RIGHT, measures=FEW_DRAWS).overlap
    copied = RIGHT.model_copy(
        update={
            "queries": (query("x", {}, both_legs([31], [31], [31, 32])), query("b", {}, both_legs([41], [42], [41]))),
            "documents": {31: "d", 32: "d", 41: "e", 42: "e"},
            "lines": {31: 1, 32: 5, 41: 1, 42: 2},
        }
    )
    other = copied.model_copy(
        update={
            "queries": (query("x", {}, both_legs([71], [71], [71, 72])), query("b", {}, both_legs([81], [81], [82]))),
            "documents": {71: "d", 72: "d", 81: "e", 82: "e"},
            "lines": {71: 1, 72: 6, 81: 1, 82: 1},
        }
    )

    assert all(0 < share <= 1 for share in found.values())
    shares = retrieval_difference(copied, other, measures=FEW_DRAWS).overlap
    assert (shares[RankingStage.DENSE], shares[RankingStage.LEXICAL], shares[RankingStage.FUSED]) == (1.0, 0.5, 0.75)


def test_queries_that_moved_are_named() -> None:
    (change,) = retrieval_difference(LEFT, RIGHT, measures=FEW_DRAWS).changes

    assert (change.query, change.stage, change.right) == ("a", RankingStage.FUSED, 1.0)
