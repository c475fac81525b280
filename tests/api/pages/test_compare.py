"""Several runs on one page."""

import httpx
import pytest

from api.context import ApiContext
from store.runs import forks
from tests.api.pages.html import see, words
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels


@pytest.fixture
async def runs(client: httpx.AsyncClient, ctx: ApiContext) -> list[int]:
    """A run and two forks of it with other scores."""
    async with ctx.database.connection() as connection:
        await import_labels(connection, {316: labels("22222222")})
        await forkable_run(connection, {316: scores("33333333")})
    for chars, digits in ((10, "22222222"), (20, "00000000")):
        body = {"stage": "score", "settings": {"RAGQ_SCORE_TEXT_CHARS": chars}}
        run_id = (await client.post("/runs/1/fork", json=body)).json()["run_id"]
        async with ctx.database.connection() as connection:
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))
    return [1, 2, 3]


async def test_several_runs_are_compared_on_a_page(client: httpx.AsyncClient, runs: list[int]) -> None:
    page = await see(client, "/runs/compare", runs="r1, r2, r3")
    text = words(page)

    assert page.status_code == 200
    assert "RAGQ_SCORE_TEXT_CHARS 80 10 20" in text
    assert "item_mae_weighted" in text and "aurc" in text
    assert "8 rows" in text
    assert 'href="/jobs/2"' in page.text
