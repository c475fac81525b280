"""The tests that pages name exist: one for each difference, and those of the specification."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["differences.md", "verified.md"])
def test_every_test_that_the_page_names_exists(page: str) -> None:
    named = re.findall(r"`([a-z_/]+/test_\w+\.py)::(\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    defined = {
        file: {node.name for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text())) if hasattr(node, "name")}
        for file in {file for file, _ in named}
    }

    assert named
    assert [f"{file}::{test}" for file, test in named if test not in defined[file]] == []
