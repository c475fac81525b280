"""A corpus from JSON lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.corpora.blocks import read_markdown
from stages.corpora.works import bibliography, parse_corpus

SECRET = "text of the corpus"


def jsonl(*rows: object) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def test_a_line_is_a_title_over_its_text_or_either_alone() -> None:
    data = jsonl(
        {"_id": "a", "title": " Green\ntea ", "text": " A drink. "},
        b"",
        {"id": 7, "text": "No title."},
        {"_id": "c", "title": "Title alone", "text": ""},
    )

    found, problems = parse_corpus(data, file="c.jsonl")

    assert problems == ()
    assert found.markdown == {"a": "# Green tea\n\nA drink.\n", "7": "\nNo title.\n", "c": "\nTitle alone\n"}
    assert (found.empty, found.left_out_keys) == ((), ())


def test_empty_documents_and_keys_that_hold_something_are_named() -> None:
    data = jsonl({"_id": "a", "text": "A", "metadata": {}, "url": "http://a"}, {"_id": "b", "title": " ", "text": ""})

    found, _ = parse_corpus(data, file="c.jsonl")

    assert (list(found.markdown), found.empty, found.left_out_keys) == (["a"], ("b",), ("url",))


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ([SECRET], "Input should be an object"),
        ({"text": SECRET}, "_id: Field required"),
        ({"_id": "a\nb", "text": SECRET}, "_id: String should match pattern '^[^\\r\\n]*$'"),
        ({"_id": "a" * 201, "text": SECRET}, "_id: String should have at most 200 characters"),
        ({"_id": "a", "text": [SECRET]}, "text: Input should be a valid string"),
        ({"_id": "a", "text": SECRET + "\0"}, "text: Text has a NUL character or half of a surrogate pair"),
    ],
)
def test_problems_name_the_line_and_never_its_content(row: object, found: str) -> None:
    _, (problem,) = parse_corpus(jsonl({"_id": "x", "text": "fine"}, row), file="c.jsonl")

    assert (problem.line, problem.found) == (2, found)
    assert SECRET not in str(problem)


@given(text=st.text(min_size=1).filter(lambda text: text.strip()))
def test_no_text_is_read_as_front_matter(text: str) -> None:
    data = json.dumps({"_id": "a", "text": f"---\ntitle: {text}\n---\n"}).encode()

    found, problems = parse_corpus(data, file="c.jsonl")

    if not problems:
        document = read_markdown(found.markdown["a"])
        assert bibliography(document, given={}, file_name="c.jsonl/a.md").year is None
        assert document.front_matter in (None, "", {})
