"""The sample and the report of the validator benchmark."""

from pathlib import Path
from typing import Any

import click
import pytest

from benchmarks.validator import lines, sample


def report(**changes: Any) -> dict[str, Any]:
    found = {
        "queries": 2,
        "asked": 5,
        "accepted": 2,
        "rejected": 2,
        "unsure": 1,
        "relevant": 2,
        "precision": {"value": 0.5, "low": 0.0, "high": 1.0},
        "recall": {"value": 0.5, "low": 0.0, "high": 1.0},
    }
    return {"validator": found | changes, "counts": {"failed": 0}, "failures": {}}


def test_the_sample_is_that_of_its_seed(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(f"{number}\n" for number in range(20)))

    first = sample(file, 5, seed=42)

    assert first == sample(file, 5, seed=42) != sample(file, 5, seed=7)
    assert [int(line) for line in first] == sorted({int(line) for line in first})
    assert len(sample(file, 50, seed=42)) == 20


def test_precision_is_compared_with_that_of_accepting_everything() -> None:
    assert lines(report(), 12.0) == [
        "5 chunks of 2 queries in 12 s: 2 accepted, 2 rejected, 1 unsure; 2 relevant",
        "precision of accept 0.500 (0.000 to 1.000); of all that was asked 0.400",
        "recall of accept 0.500 (0.000 to 1.000)",
        "queries that failed: 0",
    ]


def test_a_share_of_nothing_is_not_known() -> None:
    nothing = {"value": None, "low": None, "high": None}

    assert lines(report(accepted=0, precision=nothing), 12.0)[1].startswith("precision of accept not known;")


def test_a_run_without_verdicts_is_an_error() -> None:
    with pytest.raises(click.ClickException, match="Nothing was validated"):
        lines({"validator": None, "failures": {}}, 1.0)
