"""Corpora over REST."""

import httpx

from api.context import ApiContext
from tests.store.query_runs import store_corpus


async def test_corpora_are_listed_by_name_with_their_sizes(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await store_corpus(connection, ["tea", "bridges"], name="small")
        await store_corpus(connection, [], name="empty")

    found = (await client.get("/corpora")).json()["corpora"]

    assert [(corpus["name"], corpus["works"]) for corpus in found] == [("empty", 0), ("small", 2)]
    assert (found[1]["searchable_chunks"], found[1]["model"]) == (0, "tiny")
