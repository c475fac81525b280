"""The documentation site: complete, without a dead link, and naming tests that exist."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs import reference

ROOT = Path(__file__).parents[2]
GENERATED = {f"reference/{name}": text for name, text in reference.PAGES.items()}


def pages_of(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from pages_of(target)


def test_every_page_is_in_the_navigation_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(pages_of(nav)) == sorted(written | set(GENERATED))


def test_the_site_builds_without_a_dead_link(tmp_path: Path) -> None:
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs" / "reference").mkdir(exist_ok=True)
    for page, text in GENERATED.items():
        (tmp_path / "docs" / page).write_text(text())

    def build() -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    built = build()
    assert built.returncode == 0, built.stdout + built.stderr
    assert "tannin" in (tmp_path / "site" / "queries" / "index.html").read_text()
    assert "ragq import works" in (tmp_path / "site" / "reference" / "commands" / "index.html").read_text()

    with (tmp_path / "docs" / "index.md").open("a") as index:
        index.write("\n[nowhere](no-such-page.md)\n")
    assert build().returncode != 0


@pytest.mark.parametrize("page", ["differences.md", "verified.md"])
def test_every_test_that_the_page_names_exists(page: str) -> None:
    named = re.findall(r"`([a-z_/]+/test_\w+\.py)::(\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    defined = {
        file: {node.name for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text())) if hasattr(node, "name")}
        for file in {file for file, _ in named}
    }

    assert named
    assert [f"{file}::{test}" for file, test in named if test not in defined[file]] == []
