"""Titles and front matter of works, corpora in one file, conditions on works, and their chunks as vectors."""

import re
from typing import Any

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.values.documents import Bibliography, WorkFilter, conditions_of
from stages.corpora.blocks import read_markdown
from stages.corpora.works import bibliography, embed_chunks, parse_corpus, work_filter
from tests.fakes.embedder import FakeEmbedder
from tests.stages.queries.builders import chunk
from tests.stages.queries.test_query_files import SECRET, jsonl


def of(markdown: str, **given: Any) -> Bibliography:
    return bibliography(read_markdown(markdown), given=given, file_name="works/green-tea.md")


def test_front_matter_is_read_and_given_values_override_it() -> None:
    matter = "title: Green tea\nauthors: [A. Leaf, B. Pot]\nyear: 2019\nisbn: 0306406152\nmood: x"
    found = Bibliography(title="Green tea", authors="A. Leaf, B. Pot", year=2019, isbn="0306406152")

    assert of(f"---\n{matter}\n---\n# Tea\n") == found
    given = {"title": "Tea", "authors": "C. Cup"}
    assert of(f"---\n{matter}\n---\n", **given) == found.model_copy(update=given)


def test_a_title_is_text_that_is_given_or_that_of_the_first_heading_or_the_file() -> None:
    titles = {
        '---\ntitle: "<i>Tea</i> &amp; pots, 1 < 2"\n---\n': "Tea & pots, 1 < 2",
        "---\nyear: 2019\n---\nHello.\n\n## Second\n\n# First\n": "First",
        "---\ntitle:\n---\n# First\n": "First",
        "## Second\n": "green-tea",
    }
    assert {markdown: of(markdown).title for markdown in titles} == titles


@pytest.mark.parametrize(
    ("front_matter", "problem"),
    [
        ("title: Tea\nyear: [", ":3: the front matter is not YAML without aliases"),
        ("a: &a [x, x]\nauthors: [*a, *a]", ":3: the front matter is not YAML without aliases"),
        ("authors: [[A, B]]", ": its front matter cannot be used: authors: Input should be a valid string"),
        ("authors: " + 500 * "[", ": the front matter is not YAML without aliases"),
        ("abstract: " + 64_000 * "x", ": its front matter has more than 64000 characters"),
        ("just words", ":1: the front matter is not YAML without aliases, of `key: value` lines"),
        ("year: soon", ": its front matter cannot be used: year: Input should be a valid integer"),
        ("title: {a: b}", ": its front matter cannot be used: title: Input should be a valid string"),
    ],
)
def test_front_matter_that_cannot_be_used_is_refused_with_its_place(front_matter: str, problem: str) -> None:
    with pytest.raises(Refused, match=f"^{re.escape(f'works/green-tea.md{problem}')}"):
        of(f"---\n{front_matter}\n---\n# Tea\n")


def test_a_line_is_a_title_over_its_text_or_either_alone_and_what_is_not_used_is_named() -> None:
    data = jsonl(
        {"_id": "a", "title": " Green\ntea ", "text": " A drink. ", "metadata": {}, "url": "http://a"},
        b"",
        {"id": 7, "text": "No title."},
        {"_id": "c", "title": "Title alone", "text": ""},
        {"_id": "b", "title": " ", "text": ""},
        {"_id": "d", "text": "---\ntitle: Text\n---\n"},
    )

    lines, problems = parse_corpus(data, file="c.jsonl")

    assert problems == ()
    found = {line.id: line.markdown for line in lines}
    # What would be front matter is text, below an empty line.
    assert read_markdown(found.pop("d")).front_matter == ""
    assert found == {"a": "# Green tea\n\nA drink.\n", "7": "\nNo title.\n", "c": "\nTitle alone\n", "b": ""}
    assert [line.left_out_keys for line in lines] == [{"url"}, set(), set(), set(), set()]


@pytest.mark.parametrize(
    ("row", "found"),
    [
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


def test_conditions_make_one_filter() -> None:
    filters: dict[tuple[str, ...], WorkFilter] = {
        (): WorkFilter(),
        ("author=A. Leaf",): WorkFilter(author="A. Leaf"),
        (" title = green tea ",): WorkFilter(title="green tea"),
        ("tag=a=b",): WorkFilter(tag="a=b"),
        ("year=2001",): WorkFilter(year_from=2001, year_to=2001),
        ("year>=2001", "year<=2010"): WorkFilter(year_from=2001, year_to=2010),
        ("year>=-299",): WorkFilter(year_from=-299),
    }
    assert {conditions: work_filter(conditions) for conditions in filters} == filters
    assert [work_filter(conditions_of(one.given)) for one in filters.values()] == [*filters.values()]


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        (["autor=Leaf"], r"no field 'autor'.*author, title, tag, year.*Did you mean 'author'\?"),
        (["author"], "are written like author=Leaf"),
        ([""], "are written like author=Leaf"),
        (["author>=Leaf"], "`author` is compared by =, as in author=tea"),
        (["year=soon"], "A year is a whole number"),
        (["year>=99999"], "A year is a whole number"),
        (["author="], "cannot be filtered by this author"),
        (["title=" + "x" * 201], "cannot be filtered by this title"),
        (["author=a", "author=b"], "`author` twice"),
        (["year=2001", "year>=1999"], "`year from` twice"),
        (["year>2001"], "are written like author=Leaf"),
        (["year>=2001", "year <= -5"], "no year is from 2001 to -5"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(conditions: list[str], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        work_filter(conditions)


@pytest.mark.parametrize(
    ("embeds_headings", "texts", "cut"),
    [(True, ["Text 1.", "Tea > Leaves\nText 2."], (1,)), (False, ["Text 1.", "Text 2."], ())],
)
async def test_all_chunks_go_in_one_call_under_their_headings_or_alone_and_long_ones_are_cut_and_named(
    embeds_headings: bool, texts: list[str], cut: tuple[int, ...]
) -> None:
    embedder = FakeEmbedder(max_chars=10)

    embedded = await embed_chunks(
        [chunk(1, "Text 1."), chunk(2, "Text 2.", breadcrumbs="Tea > Leaves")],
        embedder=embedder,
        dimension=8,
        embeds_headings=embeds_headings,
        timeout_s=30,
    )

    assert (embedder.calls, embedded.cut) == ([texts], cut)
    assert np.allclose(np.linalg.norm(embedded.vectors, axis=1), [1, 1])
