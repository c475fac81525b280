"""Files of questions and of judgements."""

import json

import pytest

from schemas.values.requests import SubmittedQuery
from stages.queries.query_files import parse_qrels, parse_queries, read_query_set
from stages.records import ProblemsFound
from tests.data import public_data

SECRET = "text of the question"
JUDGEMENTS = "Should map documents to whole numbers of at most 4 digits"


def jsonl(*rows: object) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def test_both_spellings_of_the_keys_are_read() -> None:
    data = jsonl({"_id": "a", "text": " Why? "}, b"", {"id": 7, "query": "How?"})

    found, problems = parse_queries(data, file="q.jsonl")

    assert problems == ()
    assert [(query.id, query.text) for query in found] == [("a", "Why?"), ("7", "How?")]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"[" * 100_000, "Invalid JSON: recursion limit exceeded at line 1 column 202"),
        ([SECRET], "Input should be an object"),
        ({"text": SECRET}, "id: Field required"),
        ({"_id": True, "text": SECRET}, "_id: Input should be a valid string"),
        ({"_id": " ", "text": SECRET}, "_id: String should have at least 1 character"),
        ({"_id": "\0", "text": SECRET}, "_id: Text has a NUL character or half of a surrogate pair"),
        ({"_id": "a"}, "text: Field required"),
        ({"_id": "a", "text": [SECRET]}, "text: Input should be a valid string"),
        ({"_id": "a", "text": "\n"}, "text: String should have at least 1 character"),
        ({"_id": "a", "text": "x" * 2001}, "text: String should have at most 2000 characters"),
        ({"_id": "a", "text": SECRET + "\0"}, "text: Text has a NUL character or half of a surrogate pair"),
        *(
            ({"_id": "a", "text": "Why?", "judgements": judgements}, f"judgements: {JUDGEMENTS}")
            for judgements in (SECRET, {SECRET: "1"}, {SECRET: 10_000}, {"": 1}, {SECRET + "\0": 1})
        ),
        (
            {"_id": "a", "text": SECRET + "\ud83d"},
            f"Invalid JSON: unexpected end of hex escape at line 1 column {len(SECRET) + 29}",
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named_without_its_text(row: object, found: str) -> None:
    _, problems = parse_queries(jsonl({"_id": "first", "text": "Why?"}, row), file="q.jsonl")

    assert [(problem.line, problem.found) for problem in problems] == [(2, found)]
    assert SECRET not in str(problems[0])


def test_all_problems_are_reported_at_once() -> None:
    data = jsonl({"_id": "a", "text": "Why?"}, {"id": "", "text": ""}, {"_id": "a", "text": "How?"})

    _, problems = parse_queries(data, file="q.jsonl")

    blank = "String should have at least 1 character"
    assert [(problem.line, problem.found) for problem in problems] == [
        *((2, f"{key}: {blank}") for key in ("id", "text")),
        (3, "has the id of line 1"),
    ]


QUERIES = b'{"_id": "q1", "text": "Why?"}\n{"_id": "q2", "text": "How?", "type": "x"}\n'


def qrels(*lines: str) -> bytes:
    return "\n".join(["query-id\tcorpus-id\tscore", *lines]).encode()


def query_set(queries: bytes, judgements: bytes | None = None) -> tuple[tuple[SubmittedQuery, ...], list[str]]:
    return read_query_set(queries, judgements, queries_file="q.jsonl", qrels_file="qrels.tsv")


def test_queries_without_a_judgement_are_taken_and_judgements_of_others_are_counted() -> None:
    found, notices = query_set(QUERIES, qrels("q1\td1\t1", "q7\td1\t1"))

    assert [(query.id, query.judgements) for query in found] == [("q1", {"d1": 1}), ("q2", {})]
    assert notices == ["Ignored keys of q.jsonl: type.", "1 judgements of qrels.tsv are of other queries."]


def test_judgements_stand_with_their_query_or_in_a_file_of_their_own_for_the_same_queries() -> None:
    with_judgements = jsonl({"id": 7, "text": "Why?", "judgements": {"d1": 2, "d2": -1}}, {"id": "q1", "text": "How?"})

    found, notices = query_set(with_judgements)

    assert ([query.judgements for query in found], notices) == ([{"d1": 2, "d2": -1}, {}], [])
    with pytest.raises(ProblemsFound, match=r"judges queries, which q\.jsonl does too"):
        query_set(with_judgements, qrels("q1\td1\t1"))
    with pytest.raises(ProblemsFound, match="judges none of the 2 queries"):
        query_set(QUERIES, qrels("x\td1\t1"))


@pytest.mark.parametrize(
    ("folder", "queries", "judgements"),
    [("scifact", 300, 339), ("psychology/sections", 84, 84), ("psychology/definitions", 403, 404)],
)
def test_public_sets_are_read_whole(folder: str, queries: int, judgements: int) -> None:
    files = public_data(folder)

    found, notices = query_set((files / "queries.jsonl").read_bytes(), (files / "qrels.tsv").read_bytes())

    judged = sum(len(query.judgements) for query in found)
    assert (len(found), judged, [one for one in notices if "judgements" in one]) == (queries, judgements, [])


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (qrels("q 1\td1\t1\r\n\r", "q2\td2\t0\r\n"), {"q 1": {"d1": 1}, "q2": {"d2": 0}}),
        (b"301 0 FBIS-1 1\n301\t0\tFBIS-2\t-2\n", {"301": {"FBIS-1": 1, "FBIS-2": -2}}),
    ],
    ids=["BEIR", "TREC"],
)
def test_the_files_of_both_collections_are_read(data: bytes, read: dict[str, dict[str, int]]) -> None:
    judgements, problems = parse_qrels(data, file="qrels")

    assert (judgements, problems) == (read, ())


def test_a_line_that_cannot_be_used_is_named() -> None:
    found = {
        "q1\td2": "has 2 columns instead of 3",
        "q1\td2\t1\tx": "has 4 columns instead of 3",
        "q1\t\t1": "has a blank id",
        "q1\td\0\t1": "contains a NUL character, which Postgres cannot store",
        "q1\td2\tyes": "has a relevance that is not a whole number",
        "q1\td2\t0.5": "has a relevance that is not a whole number",
        "q1\td1\t0": "repeats the query and the document of line 2",
    }
    for line, problem in found.items():
        judgements, problems = parse_qrels(qrels("q1\td1\t1", line, "q9\td9\t1\n"), file="qrels.tsv")
        assert ([(one.line, one.found) for one in problems], len(judgements)) == ([(3, problem)], 2)
