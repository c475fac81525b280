"""A test holds each difference of the page."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_difference_is_held_by_a_test() -> None:
    named = re.findall(
        r"`([a-z_/]+/test_\w+\.py)::(\w+)`", (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    )
    defined = {
        file: {node.name for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text())) if hasattr(node, "name")}
        for file in {file for file, _ in named}
    }

    assert named
    assert [f"{file}::{test}" for file, test in named if test not in defined[file]] == []
