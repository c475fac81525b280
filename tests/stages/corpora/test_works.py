"""Titles and front matter of works, and corpora in one file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.values.documents import Bibliography
from stages.corpora.blocks import read_markdown
from stages.corpora.works import bibliography, parse_corpus


def of(markdown: str, **given: Any) -> Bibliography:
    return bibliography(read_markdown(markdown), given=given, file_name="works/green-tea.md")


def test_front_matter_is_read_and_its_other_keys_are_passed_over() -> None:
    markdown = "---\ntitle: Green tea\nauthors: [A. Leaf, B. Pot]\nyear: 2019\nisbn: 0306406152\nmood: x\n---\n# Tea\n"

    assert of(markdown) == Bibliography(title="Green tea", authors="A. Leaf, B. Pot", year=2019, isbn="0306406152")


def test_given_values_override_the_front_matter() -> None:
    assert of("---\ntitle: Green tea\nyear: 2019\n---\n", title="Tea", authors="C. Cup") == Bibliography(
        title="Tea", authors="C. Cup", year=2019
    )


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("---\nyear: 2019\n---\nHello.\n\n## Second\n\n# First\n", "First"),
        ("---\ntitle:\n---\n# First\n", "First"),
        ("## Second\n", "green-tea"),
    ],
)
def test_a_work_without_a_title_is_named_by_its_first_heading_or_its_file(markdown: str, title: str) -> None:
    assert of(markdown).title == title


def test_a_title_is_text() -> None:
    assert of('---\ntitle: "<i>Tea</i> &amp; pots, 1 < 2"\n---\n').title == "Tea & pots, 1 < 2"


@pytest.mark.parametrize(
    ("front_matter", "message"),
    [
        ("title: Tea\nyear: [", "works/green-tea.md:3: the front matter is not YAML without aliases"),
        ("a: &a [x, x]\nauthors: [*a, *a]", "works/green-tea.md:3: the front matter is not YAML without aliases"),
        (
            "authors: [[A, B]]",
            "works/green-tea.md: its front matter cannot be used: authors: Input should be a valid string",
        ),
        ("authors: " + 500 * "[", "works/green-tea.md: the front matter is not YAML without aliases"),
        ("abstract: " + 64_000 * "x", "works/green-tea.md: its front matter has more than 64000 characters"),
        ("just words", "works/green-tea.md:1: the front matter is not YAML without aliases, of `key: value` lines"),
        ("year: soon", "works/green-tea.md: its front matter cannot be used: year: Input should be a valid integer"),
        ("title: {a: b}", "works/green-tea.md: its front matter cannot be used: title: Input should be a valid string"),
    ],
)
def test_front_matter_that_cannot_be_used_is_refused_with_its_place(front_matter: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        of(f"---\n{front_matter}\n---\n# Tea\n")

    assert str(refused.value).startswith(message)


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
