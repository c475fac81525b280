"""Both files of a query set."""

import pytest

from stages.files.records import ProblemsFound
from stages.queries.query_files import read_query_set
from tests.data import public_data

QUERIES = b'{"_id": "q1", "text": "Why?"}\n{"_id": "q2", "text": "How?", "type": "x"}\n'


def qrels(*lines: str) -> bytes:
    return "\n".join(["query-id\tcorpus-id\tscore", *lines]).encode()


def test_queries_without_a_judgement_are_taken_and_judgements_of_others_are_counted() -> None:
    found = read_query_set(QUERIES, qrels("q1\td1\t1", "q7\td1\t1"), queries_file="q.jsonl", qrels_file="qrels.tsv")

    assert [query.external_id for query in found.queries] == ["q1", "q2"]
    assert [(one.query_id, one.document) for one in found.judgements] == [("q1", "d1")]
    assert (found.left_out_keys, found.left_out_judgements) == (("type",), 1)


def test_judgements_of_another_set_are_refused() -> None:
    with pytest.raises(ProblemsFound, match="judges none of the 2 queries"):
        read_query_set(QUERIES, qrels("x\td1\t1"), queries_file="q.jsonl", qrels_file="qrels.tsv")


@pytest.mark.parametrize(
    ("folder", "queries", "judgements"),
    [("scifact", 300, 339), ("psychology/sections", 84, 84), ("psychology/definitions", 403, 404)],
)
def test_public_sets_are_read_whole(folder: str, queries: int, judgements: int) -> None:
    files = public_data(folder)

    found = read_query_set(
        (files / "queries.jsonl").read_bytes(),
        (files / "qrels.tsv").read_bytes(),
        queries_file="queries.jsonl",
        qrels_file="qrels.tsv",
    )

    assert (len(found.queries), len(found.judgements), found.left_out_judgements) == (queries, judgements, 0)
