"""`ragq plot`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from store.database import Connection
from tests.cli.conftest import Ragq
from tests.services.marked_run import marked_run
from tests.store.query_runs import store_corpus, store_query_run


async def ranked_run(connection: Connection) -> int:
    chunks = await store_corpus(connection, ["tea", "cats"])
    ids = [chunks["tea"], chunks["cats"]]
    found = {"q1": {"dense": ids, "lexical": ids, "fused": ids, "ranking": ids, "accepted": ids, "groups": ids}}
    return await store_query_run(connection, found, [("q1", "tea", 1)])


def test_the_parts_of_a_stage_add_up_to_its_time(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(marked_run)
    stored(timed)

    (time,) = json.loads(ragq("plot", "r1", "--only", "time", "--json").stdout)

    assert time["parts"] == ["waiting", "language model", "database", "other work", "not measured"]
    # Of 6 s, a call took 1.5 s; the first attempt did not measure the database.
    assert parts_of(time, "score") == pytest.approx([5.0, 1.5, 0.5, 2.0, 2.0])
    stored(unmeasured)
    (older,) = json.loads(ragq("plot", "r1", "--only", "time", "--json").stdout)
    assert parts_of(older, "score") == [5.0, 1.5, None, None, 4.5]
    assert ragq("plot", "r1", "--only", "time", "--output", "plots").exit_code == 0
    # More than the language model left of the attempts: both were waited for at once.
    stored(overlapping)
    (full,) = json.loads(ragq("plot", "r1", "--only", "time", "--json").stdout)
    assert parts_of(full, "score") == [5.0, 1.5, 4.5, 0.0, 0.0]


def parts_of(plot: Any, stage: str) -> list[float | None]:
    return next(bar["parts"] for bar in plot["bars"] if bar["name"] == stage)


async def unmeasured(connection: Connection) -> None:
    await connection.execute("UPDATE stage_attempt SET database_s = NULL")


async def overlapping(connection: Connection) -> None:
    await connection.execute("UPDATE stage_attempt SET database_s = 9")


async def timed(connection: Connection) -> None:
    """The stage `score` was tried for 2 s, waited 3 s and 2 s, and was tried for 4 s, of which a call took 1.5 s."""
    start = "(SELECT created_at FROM run)"
    await connection.execute(
        f"UPDATE stage_attempt SET started_at = {start}, ended_at = {start} WHERE stage <> 'score';"
        f"UPDATE stage_attempt SET started_at = {start} + interval '3 s', ended_at = {start} + interval '5 s'"
        "  WHERE stage = 'score' AND number = 1;"
        f"UPDATE stage_attempt SET started_at = {start} + interval '7 s', ended_at = {start} + interval '11 s'"
        "  WHERE stage = 'score' AND number = 2;"
        "UPDATE stage_attempt SET database_s = 0.5 WHERE stage = 'score' AND number = 2"
    )


def test_the_file_of_a_single_plot_can_be_named(ragq: Ragq, stored: Callable[..., Any], tmp_path: Path) -> None:
    stored(marked_run)
    stored(timed)

    refused = ragq("plot", "r1", "--output", "p.svg")
    done = ragq("plot", "r1", "--only", "time", "--output", "p.png")

    assert (refused.exit_code, done.stdout.split()) == (2, ["p.png"])
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_plots_are_written_as_files(ragq: Ragq, stored: Callable[..., Any], ending: str, begins: bytes) -> None:
    stored(marked_run)

    done = ragq("plot", "r1", "--only", "items", "--output", "plots", "--format", ending)

    file = Path(f"plots/r1-items.{ending}")
    assert (done.stdout, file.read_bytes()[: len(begins)]) == (f"{file}\n", begins)
    assert ragq("plot", "r1", "--only", "items", "--output", "again").exit_code == 0
    assert "var(--ink)" in Path("again/r1-items.svg").read_text()


def test_rankings_of_queries_are_plotted(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(ranked_run)

    (ranking,) = json.loads(ragq("plot", "r1", "--only", "ranking", "--json").stdout)

    assert ranking["bars"][0]["parts"] == [1.0]
    assert isinstance(ragq("plot", "r1", "--only", "risk").exception, Refused)
