"""The retrieval benchmark, without a stack."""

from pathlib import Path

import pytest

from benchmarks.bm25_baseline import bm25_ndcg
from benchmarks.retrieval import BenchmarkCorpus, RetrievalMeasurement, goals
from benchmarks.retrieval_sets import SETS, documents_of, query_set_of, write_works
from tests.data import public_data


def measured(**ndcg: float) -> RetrievalMeasurement:
    stages = [{"stage": stage, "measures": {"ndcg@10": {"value": value}}} for stage, value in ndcg.items()]
    return RetrievalMeasurement(0.68, BenchmarkCorpus("books", 10, 1.0, 100.0), 1.0, 100.0, {"stages": stages})


def test_a_document_is_a_work_under_its_name(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "7", "title": "Tea\\nand water", "text": "It is brewed."}\n')

    assert write_works(corpus, tmp_path / "works") == 1
    assert (tmp_path / "works" / "7.md").read_text() == "# Tea and water\n\nIt is brewed.\n"


def test_goals_are_reported_as_reached_or_missed() -> None:
    found = measured(dense=0.64, lexical=0.702, fused=0.7, reranked=0.69)

    assert [line.split(":")[0] for line in goals("scifact", found)] == ["reached", "MISSED", "reached"]


@pytest.mark.parametrize(("name", "at_least"), [("psychology-sections", 0.75), ("psychology-definitions", 0.90)])
def test_the_baseline_is_near_the_known_one(name: str, at_least: float) -> None:
    documents = public_data(SETS[name].documents)
    queries = query_set_of(public_data("."), name)

    assert at_least < bm25_ndcg(list(documents_of(documents)), queries) < 0.95
