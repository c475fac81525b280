"""The list of differences is the page, and a test holds each of them."""

import ast
from pathlib import Path

from tests.docs import differences

TESTS = Path(__file__).parents[1]


def test_the_committed_page_is_current() -> None:
    assert differences.PAGE.read_text(encoding="utf-8") == differences.page(), "run: python -m tests.docs.differences"


def test_every_difference_is_held_by_a_test() -> None:
    named = [one.test.split("::") for of_section in differences.SECTIONS.values() for one in of_section]
    defined = {
        file: {node.name for node in ast.walk(ast.parse((TESTS / file).read_text())) if hasattr(node, "name")}
        for file in {file for file, _ in named}
    }

    assert [f"{file}::{test}" for file, test in named if test not in defined[file]] == []
