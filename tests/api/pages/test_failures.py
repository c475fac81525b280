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


async def test_an_unknown_run_or_stage_is_a_problem_of_the_form(client: httpx.AsyncClient) -> None:
    for query in ("run=r99", "run=nothing", "stage=dance"):
        refused = await client.get(f"/failures?{query}", headers={"Accept": "text/html"})
        assert refused.status_code == 422, query
        assert 'role="alert"' in refused.text


async def test_nothing_failed(client: httpx.AsyncClient) -> None:
    assert "No such failure in 0 runs" in words(await see(client, "/failures"))
