"""The benchmarks that the documentation names are there, and three run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main

ROOT = Path(__file__).parents[2]
DOCUMENTED = sorted(
    {
        name
        for file in (ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").rglob("*.md"))
        for name in re.findall(r"python -m benchmarks (\w+)", file.read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize("name", sorted({*DOCUMENTED, *main.commands}))
def test_a_benchmark_says_what_it_does_and_how_it_is_called(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"])

    assert shown.exit_code == 0
    assert f"python -m benchmarks {name}" in shown.output


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("hop --jobs 5 --idle-jobs 2 --turns 1 --only celery --only ragq", "ragq"),
        ("flow --sizes 20 --drain-seconds 0.5", "stages/s"),
        ("gate --pairs 2", "skewed"),
    ],
)
def test_a_small_run_ends_with_figures(words: str, shown: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words.split()], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert re.search(rf"{shown}.*\d", ran.stdout)
