"""The page of participants: runs with their errors, splits, indexes."""

import httpx

from api.context import ApiContext
from services.runs import change_run
from store.runs import runs
from tests.api.pages.html import see, words
from tests.cli.test_diff import two_runs
from tests.store.reference_indexes import index_run


async def test_runs_are_listed_with_the_error_of_each_mode(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        cold, hot = await two_runs(connection)
        await change_run(connection, cold, {"name": "cold"})
        other = await runs.store(connection, index_run(316))
    page = await see(client, "/participants")
    text = words(page)
    # 316 is scored 2 and 1 where the truth is 1 and 0, 319 exactly; few-shot scores the first item of 316 exactly.
    assert f"Run {cold} cold paper-test profile" in text
    assert "MAE few-shot 0.000 MAE zero-shot 0.667" in text
    assert f'href="/runs/{hot}"' in page.text
    assert f'href="/runs/{other.run_id}"' not in page.text
