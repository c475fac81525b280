"""`ragq plot`."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from schemas.errors import Refused
from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.services.marked_run import marked_run
from tests.store.query_runs import store_corpus, store_query_run


async def ranked_run(connection: Connection) -> int:
    chunks = await store_corpus(connection, ["tea", "cats"])
    ids = [chunks["tea"], chunks["cats"]]
    found = {"q1": {"dense": ids, "lexical": ids, "fused": ids, "ranking": ids, "accepted": ids, "groups": ids}}
    return await store_query_run(connection, found, [("q1", "tea", 1)])


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_plots_are_written_as_files(ragq: Ragq, stored: Stored, ending: str, begins: bytes) -> None:
    stored(marked_run)

    done = ragq("plot", "r1", "--only", "items", "--output", "plots", "--format", ending)

    file = Path(f"plots/r1-items.{ending}")
    assert (done.stdout, file.read_bytes()[: len(begins)]) == (f"{file}\n", begins)
    assert ragq("plot", "r1", "--only", "items", "--output", "again").exit_code == 0
    assert "var(--ink)" in Path("again/r1-items.svg").read_text()
    assert ragq("plot", "r1", "--only", "items", "--output", f"p.{ending}").stdout == f"p.{ending}\n"
    assert Path(f"p.{ending}").read_bytes()[: len(begins)] == begins


def test_every_plot_has_its_colours_whichever_was_drawn_before_it(ragq: Ragq, stored: Stored) -> None:
    stored(marked_run)

    for output in ("one.svg", "one.png", "again.svg"):
        ragq("plot", "r1", "--only", "items", "--output", output)

    assert "var(--ink)" in Path("again.svg").read_text()
    ink = [value / 255 for value in (0x1D, 0x23, 0x30)]
    assert np.isclose(imread("one.png")[..., :3], ink, atol=0.002).all(axis=-1).any()


def test_rankings_of_queries_are_plotted(ragq: Ragq, stored: Stored) -> None:
    stored(ranked_run)

    (ranking,) = json.loads(ragq("plot", "r1", "--only", "ranking", "--json").stdout)

    assert Path(ranking["file"]).read_text().startswith("<svg")
    assert isinstance(ragq("plot", "r1", "--only", "risk").exception, Refused)
