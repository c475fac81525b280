"""Reports of one participant: nothing is resampled, so no number has an interval, and each form says so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")
WORDS = "1 evaluated participant: too few for an interval"
BOUNDS = re.compile(r"\[-?\d+\.\d+, -?\d+\.\d+\]")


async def of_one(connection: Connection) -> int:
    await import_labels(connection, {316: labels("10201032")})
    return await store_scored_run(connection, {(mode, 316): scores("11-21100") for mode in ("zero_shot", "few_shot")})


@pytest.fixture
def run(stored: Stored) -> str:
    return f"r{stored(of_one)}"


@pytest.mark.parametrize("form", [(), ("--markdown",), ("--latex",)], ids=["terminal", "markdown", "latex"])
def test_no_form_has_an_interval(ragq: Ragq, run: str, form: tuple[str, ...]) -> None:
    shown = " ".join(ragq("report", run, *form, *FEW).stdout.split())

    assert WORDS in shown
    assert "too few" in shown
    assert not BOUNDS.search(shown)


def test_the_page_has_none(ragq: Ragq, run: str, tmp_path: Path) -> None:
    ragq("report", run, "--html", str(tmp_path / "report.html"), *FEW)

    page = (tmp_path / "report.html").read_text()
    assert WORDS in page
    assert not BOUNDS.search(page)


def test_json_has_null_at_both_ends(ragq: Ragq, run: str) -> None:
    report = json.loads(ragq("report", run, "--json", *FEW).stdout)

    intervals = list(_intervals(report["experiments"]))
    assert len(intervals) > 50
    assert {(one["low"], one["high"], one["std"]) for one in intervals} == {(None, None, None)}


def _intervals(found: Any) -> Any:
    if isinstance(found, dict):
        if {"value", "low", "high"} <= found.keys():
            yield found
        found = list(found.values())
    if isinstance(found, list):
        for inner in found:
            yield from _intervals(inner)
