"""Queries from JSON lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.queries.query_files import parse_queries
from stages.texts.characters import can_be_stored

SECRET = "text of the question"


def jsonl(*rows: object) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def test_both_spellings_of_the_keys_are_read() -> None:
    data = jsonl({"_id": "a", "text": " Why? "}, b"", {"id": 7, "query": "How?"})

    (queries, left_out), problems = parse_queries(data, file="q.jsonl")

    assert problems == ()
    assert [(query.external_id, query.text) for query in queries] == [("a", "Why?"), ("7", "How?")]
    assert left_out == ()


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"[" * 100_000, "Invalid JSON: recursion limit exceeded at line 1 column 202"),
        ([SECRET], "Input should be an object"),
        ({"text": SECRET}, "_id: Field required"),
        ({"_id": "a", "id": "a", "text": SECRET}, "Only one of _id and id is allowed, and one of text and query"),
        ({"_id": True, "text": SECRET}, "_id: Input should be a valid string"),
        ({"_id": " ", "text": SECRET}, "_id: String should have at least 1 character"),
        ({"_id": "\0", "text": SECRET}, "_id: Text has a NUL character or half of a surrogate pair"),
        ({"_id": "a"}, "text: Field required"),
        ({"_id": "a", "text": SECRET, "query": SECRET}, "Only one of _id and id is allowed, and one of text and query"),
        ({"_id": "a", "text": [SECRET]}, "text: Input should be a valid string"),
        ({"_id": "a", "text": "\n"}, "text: String should have at least 1 character"),
        ({"_id": "a", "text": "x" * 2001}, "text: String should have at most 2000 characters"),
        ({"_id": "a", "text": SECRET + "\0"}, "text: Text has a NUL character or half of a surrogate pair"),
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

    assert [(problem.line, problem.found) for problem in problems] == [
        (2, "id: String should have at least 1 character"),
        (2, "text: String should have at least 1 character"),
        (3, "has the id of line 1"),
    ]


@given(st.dictionaries(st.text(min_size=1).map(str.strip).filter(bool), st.text(max_size=50).map(str.strip)))
def test_what_is_written_is_read_again(texts: dict[str, str]) -> None:
    usable = {key: text for key, text in texts.items() if text and can_be_stored(key + text)}

    (queries, _), problems = parse_queries(jsonl(*({"_id": k, "text": t} for k, t in usable.items())), file="q")

    assert {query.external_id: query.text for query in queries} == usable
    assert bool(problems) is not bool(usable)
