"""`ragq plot`."""

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plots_are_written_as_files(ragq: Ragq, stored: Stored, ending: str, begins: bytes) -> None:
    stored(marked_run)

    done = ragq("plot", "r1", "--only", "items", "--output", "plots", "--format", ending)

    file = Path(f"plots/r1-items.{ending}")
    assert (done.stdout, file.read_bytes()[: len(begins)]) == (f"{file}\n", begins)


def test_rankings_of_queries_are_plotted(ragq: Ragq, stored: Stored) -> None:
    stored(ranked_run)

    (ranking,) = json.loads(ragq("plot", "r1", "--only", "ranking", "--json").stdout)

    assert Path(ranking["file"]).read_text().startswith("<?xml")
    assert isinstance(ragq("plot", "r1", "--only", "risk").exception, Refused)
