"""The works that come with ragq, imported, embedded by the packaged model, and found."""

import asyncio

from store.corpora.chunk_search import PostgresChunkSearch
from store.database import Database
from tests.acceptance.harness import Installation

FOUND = "SELECT w.title FROM chunks AS c JOIN works AS w ON w.id = c.work_id WHERE c.id = $1"


def test_the_demo_works_are_found_by_their_content(fresh: Installation) -> None:
    assert fresh.ragq("demo-data", "--works", "works").exit_code == 0
    run_id = fresh.ragq("import", "works", "works", "--json").json["run_id"]
    fresh.start_worker()
    assert fresh.wait_for(run_id) == {"succeeded": 1}
    corpus = fresh.ragq("corpus", "show", "default", "--json").json
    assert (corpus["waiting"], corpus["dimension"], len(corpus["works"])) == (0, 384, 3)

    async def best(question: str) -> int:
        database = Database(fresh.database_url, pool_size=1)
        search = PostgresChunkSearch(database, k1=0.9, b=0.4)
        (hits,) = await search.lexical([corpus["id"]], [question], limit=5, scorer="bm25")
        await database.close()
        return hits[0].chunk_id

    for question, title in (
        ("why is green tea brewed with cooler water", "How Tea Is Made"),
        ("what digs the sand away from the piers", "How Bridges Stand Up"),
        ("how is a pendulum protected from warmth", "How Clocks Keep Time"),
    ):
        assert fresh.value(FOUND, asyncio.run(best(question))) == title
