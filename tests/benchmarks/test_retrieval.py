"""The retrieval benchmark, without a stack."""

from pathlib import Path
from typing import Any

import pytest
from click import ClickException, UsageError

from benchmarks.bm25_baseline import bm25_ndcg
from benchmarks.retrieval import ABLATIONS, BenchmarkCorpus, RetrievalMeasurement, goals, paired, require_presets
from benchmarks.retrieval_sets import (
    Document,
    beir_set,
    corpus_of,
    public_set,
    query_set_of,
    write_queries,
    write_works,
)
from schemas.settings.preset import preset_of
from tests.data import public_data

CORPUS = """\
{"_id": "a/1", "title": "Tea\\nand water", "text": "It is brewed."}
{"_id": 7, "title": "Tea and water", "text": "It is brewed."}
{"_id": "8", "text": "Coffee is roasted."}
{"_id": "9", "title": "", "text": " "}
"""
QUERIES = """\
{"_id": "q1", "text": "Tea?"}
{"_id": "q2", "text": "Coffee?"}
{"_id": "q3", "text": "Cocoa?"}
{"_id": "q4", "text": "Roasted?"}
"""
QRELS = "query-id\tcorpus-id\tscore\nq1\ta/1\t1\nq1\t7\t2\nq2\t8\t1\nq4\t8\t1\n"


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A folder in BEIR's layout, two of whose documents have the same text and one has none."""
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    (tmp_path / "set" / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "set" / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "set" / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path / "set"


def measured(**ndcg: float) -> RetrievalMeasurement:
    stages = [{"stage": stage, "measures": {"ndcg@10": {"value": value}}} for stage, value in ndcg.items()]
    return RetrievalMeasurement(0.68, BenchmarkCorpus("books", 10, 1.0, 100.0), 1.0, 100.0, {"stages": stages}, {})


def test_a_document_is_a_work_under_its_name(tmp_path: Path) -> None:
    write_works([Document("7", "Tea\nand water", "It is brewed.")], tmp_path / "works")

    assert (tmp_path / "works" / "7.md").read_text() == "# Tea and water\n\nIt is brewed.\n"


def test_documents_of_equal_text_are_one_work_which_is_judged_as_the_best_of_them(beir: Path, tmp_path: Path) -> None:
    found = beir_set(beir)
    documents, name_of = corpus_of(found.documents)

    written = write_queries(found, name_of, tmp_path / "queries")

    assert [document.name for document in documents] == ["document-1", "8"]  # "a/1" cannot name a file.
    assert name_of == {"a/1": "document-1", "7": "document-1", "8": "8"}
    assert written.qrels.read_text().splitlines()[1:] == ["q1\tdocument-1\t2", "q2\t8\t1", "q4\t8\t1"]


def test_queries_without_judgement_are_left_out_and_halves_share_no_query(beir: Path, tmp_path: Path) -> None:
    found = beir_set(beir)

    halves = {
        half: write_queries(found, {}, tmp_path / half, half=None if half == "all" else half)
        for half in ("all", "dev", "test")
    }

    assert {half: [query.external_id for query in query_set_of(files).queries] for half, files in halves.items()} == {
        "all": ["q1", "q2", "q4"],
        "dev": ["q1", "q4"],
        "test": ["q2"],
    }


def test_a_folder_without_judgements_is_refused_with_what_it_needs(beir: Path) -> None:
    (beir / "qrels" / "test.tsv").unlink()

    with pytest.raises(ClickException, match=r"it has no qrels/test\.tsv"):
        beir_set(beir)


def report(**stages: list[float]) -> dict[str, Any]:
    """A report of queries 0, 1, ... with these nDCG."""
    count = len(next(iter(stages.values())))
    return {
        "queries": [
            {"query": str(place), "stages": {stage: {"ndcg@10": found[place]} for stage, found in stages.items()}}
            for place in range(count)
        ]
    }


def test_rankings_are_compared_query_by_query() -> None:
    found = paired(report(fused=[0.2, 0.4, 1.0]), report(reranked=[0.3, 0.5, 1.1]), ("fused", "reranked"))

    # Every query gains the same, so no draw of them differs.
    assert found is not None and found.low is not None and found.high is not None
    assert [round(value, 9) for value in (found.value or 0, found.low, found.high)] == [0.1, 0.1, 0.1]
    assert paired(report(fused=[0.2]), report(dense=[0.3]), ("fused", "reranked")) is None


def test_every_ablation_is_a_value_of_a_preset() -> None:
    for value in ABLATIONS.values():
        preset_of(dict([value.split("=")]), origin="test")


def test_goals_are_reported_as_reached_or_missed() -> None:
    found = measured(dense=0.64, lexical=0.702, fused=0.7, reranked=0.69)

    assert [line.split(":")[0] for line in goals("scifact", found)] == ["reached", "MISSED", "reached"]


@pytest.mark.parametrize(("name", "at_least"), [("psychology-sections", 0.75), ("psychology-definitions", 0.90)])
def test_the_baseline_is_near_the_known_one(name: str, at_least: float) -> None:
    found = public_set(public_data("."), name)

    assert at_least < bm25_ndcg(corpus_of(found.documents).documents, query_set_of(found)) < 0.95


def test_a_preset_that_is_not_known_is_refused_with_those_that_are() -> None:
    require_presets(["Balanced"], ["Original", "Balanced"])

    with pytest.raises(UsageError, match="There is no preset Wide; there are Original, Balanced"):
        require_presets(["Balanced", "Wide"], ["Original", "Balanced"])
