"""The report of a run of questions, and differences of two."""

from math import log2

import pytest

from schemas.statuses import JobStatus
from schemas.values.participants import Decision
from schemas.values.reports import RankingStage
from stages.reports.retrieval import build_retrieval_report, document_rankings
from tests.stages.reports.query_builders import DOCUMENTS, FEW_DRAWS, both_legs, query, query_run, verdicts


def test_a_ranking_is_the_mean_over_the_queries_that_have_it_and_every_query_is_counted_once() -> None:
    """`a` is found at rank 2 and then 1, `b` never; `c` failed, `d` is not judged, `e` judges nothing relevant."""
    found = build_retrieval_report(
        query_run(
            query("a", {"d1": 1}, both_legs([21, 11], [11], [21, 22, 11]), ranking=(11, 21), ranker="score-fusion"),
            query("b", {"d9": 2, "d1": 0}, both_legs([11], [], [11]), ranking=(11,), ranker="score-fusion", job_id=3),
            query("c", {"d1": 1}, job_id=2),
            query("d", {}, both_legs([11], [11], [11])),
            query("e", {"d1": 0}, both_legs([11], [11], [11])),
            query("f", {"d1": 1}, both_legs([999], [], [999])),
            query("g", {"d1": 1}, status=JobStatus.RUNNING),
            unknown_documents=1,
            failures={"llm_timeout": 1},
        ),
        measures=FEW_DRAWS,
    )

    assert found.counts == {
        **{"submitted": 7, "without_judgement": 1, "without_relevant": 1, "judged": 5},
        **{"failed": 1, "unfinished": 1, "chunks_gone": 1, "unknown_documents": 1},
    }
    stages = {one.stage: one for one in found.stages}
    assert list(stages) == [RankingStage.DENSE, RankingStage.LEXICAL, RankingStage.FUSED, RankingStage.RERANKED]
    assert {(one.queries, one.missing) for one in stages.values()} == {(2, 3)}
    ndcg = [one.measures["ndcg@10"].value for one in stages.values()]
    assert ndcg == pytest.approx([1 / log2(3) / 2, 0.5, 1 / log2(3) / 2, 0.5])
    assert (stages[RankingStage.FUSED].mean_documents, stages[RankingStage.LEXICAL].mean_documents) == (1.5, 0.5)
    assert stages[RankingStage.RERANKED].measures["mrr@10"].low == 0.0
    queries = {one.query: one for one in found.queries}
    assert list(queries) == ["a", "b", "c", "f", "g"]
    assert (queries["c"].status, queries["c"].stages, queries["f"].stages) == (JobStatus.FAILED, {}, {})
    assert queries["a"].stages[RankingStage.RERANKED]["p@10"] == 0.1
    assert found.failures == {"llm_timeout": 1}


def test_the_validator_is_measured_over_what_it_was_asked() -> None:
    yes, no, unsure = Decision.ACCEPT, Decision.REJECT, Decision.UNSURE
    found = build_retrieval_report(
        query_run(
            query("a", {"d1": 1}, both_legs([11], [11]), verdicts=verdicts(c11=yes, c12=no, c21=yes, c31=unsure)),
            query("b", {"d2": 1}, both_legs([11], [11]), verdicts=verdicts(c21=yes, c31=no)),
            query("c", {}, both_legs([11], [11]), verdicts=verdicts(c11=yes)),
        ),
        measures=FEW_DRAWS,
    ).validator

    assert found is not None
    assert (found.queries, found.asked, found.accepted, found.rejected, found.unsure) == (2, 6, 3, 2, 1)
    # accepted: 11 and 21 of their queries, and 21 of a query that it does not answer
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == pytest.approx(2 / 3)


def test_a_run_without_judgements_has_a_report_of_counts() -> None:
    found = build_retrieval_report(query_run(query("a", {}, both_legs([11], [11]))), measures=FEW_DRAWS)

    assert (found.stages, found.queries, found.counts["without_judgement"]) == ((), (), 1)


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
    assert document_rankings(query("q", {}, both_legs([11], [999])), DOCUMENTS) is None, "a chunk is deleted"
