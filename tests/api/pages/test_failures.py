"""The page of failures across runs."""

import httpx

from api.context import ApiContext
from tests.api.pages.html import see, words
from tests.cli.test_failures import two_runs


async def test_causes_of_all_runs_and_the_exchanges_of_one(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await two_runs(connection)

    page = await see(client, "/failures")
    of_run = await see(client, "/failures?run=r1")
    chosen = await see(client, "/failures?stage=score&type=builtins.ValueError&cause=Chunk+%23+of+%23+is+bad")

    assert "Chunk # of # is bad" in words(page)
    assert "the prompt" not in page.text
    assert "Chunk # of # is bad" not in words(of_run)
    assert ("the prompt" in chosen.text, "the reply" in chosen.text) == (True, True)
