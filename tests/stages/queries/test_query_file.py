"""Queries from JSON lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.queries.query_file import parse_queries
from stages.texts.storable import can_be_stored

SECRET = "what somebody asked"


def jsonl(*rows: object) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def test_both_spellings_of_the_keys_are_read() -> None:
    data = jsonl({"_id": "a", "text": " Why? "}, b"", {"id": 7, "query": "How?"})

    (queries, left_out), problems = parse_queries(data, file="q.jsonl")

    assert problems == ()
    assert [(query.external_id, query.text) for query in queries] == [("a", "Why?"), ("7", "How?")]
    assert left_out == ()


def test_other_keys_are_named() -> None:
    (_, left_out), _ = parse_queries(jsonl({"_id": "a", "text": "Why?", "type": "x", "metadata": {}}), file="q.jsonl")

    assert left_out == ("metadata", "type")


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (b"{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        ([SECRET], "is no JSON object"),
        ({"text": SECRET}, "has no id"),
        ({"_id": "a", "id": "a", "text": SECRET}, "has _id and id"),
        ({"_id": True, "text": SECRET}, "has an id that is neither a string nor a whole number"),
        ({"_id": " ", "text": SECRET}, "has a blank id"),
        ({"_id": "\0", "text": SECRET}, "has an id with characters that Postgres cannot store"),
        ({"_id": "a"}, "has no text"),
        ({"_id": "a", "text": SECRET, "query": SECRET}, "has text and query"),
        ({"_id": "a", "text": [SECRET]}, "has a text that is no string"),
        ({"_id": "a", "text": "\n"}, "has a blank text"),
        ({"_id": "a", "text": "x" * 2001}, "has a text of 2001 characters"),
        ({"_id": "a", "text": SECRET + "\ud83d"}, "has a text with characters that Postgres cannot store"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_without_its_text(row: object, found: str) -> None:
    _, problems = parse_queries(jsonl({"_id": "first", "text": "Why?"}, row), file="q.jsonl")

    assert [(problem.line, problem.found) for problem in problems] == [(2, found)]
    assert SECRET not in str(problems[0])


def test_all_problems_come_at_once() -> None:
    data = jsonl({"_id": "a", "text": "Why?"}, {"id": "", "text": ""}, {"_id": "a", "text": "How?"})

    _, problems = parse_queries(data, file="q.jsonl")

    assert [(problem.line, problem.found) for problem in problems] == [
        (2, "has a blank id"),
        (2, "has a blank text"),
        (3, "has the id of line 1"),
    ]


def test_a_number_and_its_digits_are_one_id() -> None:
    _, problems = parse_queries(jsonl({"_id": 1, "text": "Why?"}, {"_id": "1", "text": "How?"}), file="q.jsonl")

    assert [problem.found for problem in problems] == ["has the id of line 1"]


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_file_without_queries_is_a_problem(data: bytes) -> None:
    _, problems = parse_queries(data, file="q.jsonl")

    assert [(problem.line, problem.found) for problem in problems] == [(None, "has no query")]


def test_a_file_that_is_not_utf_8_is_a_problem_of_its_line() -> None:
    _, problems = parse_queries(jsonl({"_id": "a", "text": "Why?"}, b"\xff"), file="q.jsonl")

    assert [(problem.line, problem.found) for problem in problems] == [(2, "is not UTF-8")]


@given(st.dictionaries(st.text(min_size=1).map(str.strip).filter(bool), st.text(max_size=50).map(str.strip)))
def test_what_is_written_is_read_again(texts: dict[str, str]) -> None:
    usable = {key: text for key, text in texts.items() if text and can_be_stored(key + text)}

    (queries, _), problems = parse_queries(jsonl(*({"_id": k, "text": t} for k, t in usable.items())), file="q")

    assert {query.external_id: query.text for query in queries} == usable
    assert bool(problems) is not bool(usable)
