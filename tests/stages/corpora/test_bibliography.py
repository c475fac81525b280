"""The bibliographic data of a work."""

from typing import Any

import pytest

from schemas.errors import Refused
from schemas.values.documents import Bibliography
from stages.corpora.blocks import read_markdown
from stages.corpora.works import bibliography


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
        ("just words", "works/green-tea.md:1: the front matter is not a list"),
        ("year: soon", "works/green-tea.md: its front matter cannot be used: year: Input should be a valid integer"),
        ("title: {a: b}", "works/green-tea.md: its front matter cannot be used: title: Input should be a valid string"),
    ],
)
def test_front_matter_that_cannot_be_used_is_refused_with_its_place(front_matter: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        of(f"---\n{front_matter}\n---\n# Tea\n")

    assert str(refused.value).startswith(message)
