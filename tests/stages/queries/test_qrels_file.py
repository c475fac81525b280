"""Relevance judgements."""

import pytest

from stages.queries.query_files import parse_qrels

BEIR = b"query-id\tcorpus-id\tscore\r\nq 1\td1\t1\r\n\r\nq2\td2\t0\r\n"
TREC = b"301 0 FBIS-1 1\n301\t0\tFBIS-2\t-2\n"


@pytest.mark.parametrize(
    ("data", "read"),
    [(BEIR, [("q 1", "d1", 1), ("q2", "d2", 0)]), (TREC, [("301", "FBIS-1", 1), ("301", "FBIS-2", -2)])],
    ids=["BEIR", "TREC"],
)
def test_the_files_of_both_collections_are_read(data: bytes, read: list[tuple[str, str, int]]) -> None:
    judgements, problems = parse_qrels(data, file="qrels")

    assert problems == ()
    assert [tuple(one.model_dump().values()) for one in judgements] == read


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("q1\td2", "has 2 columns instead of 3"),
        ("q1\td2\t1\tx", "has 4 columns instead of 3"),
        ("q1\t\t1", "has a blank id"),
        ("q1\td\0\t1", "contains a NUL character, which Postgres cannot store"),
        ("q1\td2\tyes", "has a relevance that is not a whole number"),
        ("q1\td2\t0.5", "has a relevance that is not a whole number"),
        ("q1\td1\t0", "repeats the query and the document of line 2"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(line: str, found: str) -> None:
    data = f"query-id\tcorpus-id\tscore\nq1\td1\t1\n{line}\nq9\td9\t1\n".encode()

    judgements, problems = parse_qrels(data, file="qrels.tsv")

    assert [(problem.line, problem.found) for problem in problems] == [(3, found)]
    assert len(judgements) == 2
