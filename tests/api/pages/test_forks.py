"""The pages of forks."""

import httpx

from store.runs.runs import StoredRun
from tests.api.pages.html import see, send, words


async def test_a_run_is_forked_from_its_page(client: httpx.AsyncClient, parent: StoredRun) -> None:
    page = await see(client, "/runs/1/forks/new")
    assert "RAGQ_SCORE_SCHEMA" in words(page)

    made = await send(client, page, "/runs/1/forks/new", stage="score", settings="RAGQ_SCORE_SCHEMA = true\n")

    assert made.headers["Location"] == "/runs/2"
    assert "Forked from run 1 at stage score" in words(await see(client, "/runs/2"))
    assert "Forks: run 2 at score" in words(await see(client, "/runs/1"))
