"""`ragq report` and `ragq diff` over stored runs of queries."""

import json
from pathlib import Path

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.store.query_runs import store_corpus, store_query_run

FEW = ("--bootstrap-resamples", "20")
JUDGEMENTS = [("a", "d1", 1), ("b", "d2", 1), ("b", "d7", 1)]


async def two_runs(connection: Connection) -> tuple[int, int]:
    """The first run has `a` at rank 2, and loses `c`, which is not judged; the second has it at rank 1."""
    chunks = await store_corpus(connection, ["d1", "d2", "<script>"])
    one, two, other = chunks.values()
    seen = {"dense": [two, one], "lexical": [one], "fused": [two, one]}
    best = {"dense": [two, one], "lexical": [two], "fused": [two, one], "ranking": [two, one]}
    first = await store_query_run(
        connection,
        {"a": {**seen, "ranking": [two, one], "accepted": [two]}, "b": {**best, "accepted": [two]}, "c": None},
        JUDGEMENTS,
        settings={"retrieval.fusion": "rrf"},
    )
    second = await store_query_run(
        connection,
        {"a": {**seen, "ranking": [one, other]}, "b": best},
        JUDGEMENTS,
        settings={"retrieval.fusion": "zscore"},
    )
    return first, second


@pytest.fixture
def pair(stored: Stored) -> tuple[str, str]:
    first, second = stored(two_runs)
    return f"r{first}", f"r{second}"


def test_the_page_is_self_contained_and_holds_no_text(ragq: Ragq, pair: tuple[str, str]) -> None:
    done = ragq("report", pair[0], "--html", "report.html", *FEW)

    written = Path("report.html").read_text()
    assert (done.stdout, done.stderr) == ("", "Wrote report.html.\n")
    assert written.count("<svg") == 1
    assert "http" not in written
    assert "text of the question" not in written


def test_the_difference_is_json(ragq: Ragq, pair: tuple[str, str]) -> None:
    (found,) = json.loads(ragq("diff", *pair, "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert (found["runs"], found["compared"][0]["subjects"]) == ([*pair], 2)
