"""Rankings of chunks as rankings of documents."""

from schemas.values.retrieval_reports import RankingStage
from stages.reports.retrieval import document_rankings
from tests.stages.reports.query_builders import DOCUMENTS, both_legs, query


def test_a_document_has_the_rank_of_its_best_chunk() -> None:
    found = query(
        "q",
        {},
        both_legs([21, 11, 22, 31], [12], [11, 21, 12]),
        ranking=(31, 32, 11),
        selected=(32,),
        groups=((11, 12), (41,), (13,)),
    )

    assert document_rankings(found, DOCUMENTS) == {
        RankingStage.DENSE: ("d2", "d1", "d3"),
        RankingStage.LEXICAL: ("d1",),
        RankingStage.FUSED: ("d1", "d2"),
        RankingStage.RERANKED: ("d3", "d1"),
        RankingStage.SELECTED: ("d3",),
        RankingStage.CONSOLIDATED: ("d1", "d4"),
    }


def test_a_query_with_a_deleted_chunk_is_left_out() -> None:
    assert document_rankings(query("q", {}, both_legs([11], [999])), DOCUMENTS) is None
