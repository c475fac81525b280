"""The list of runs."""

import httpx
import pytest

from api.context import ApiContext
from services.runs import change_run
from tests.api.pages.example_runs import participant_run, question_run
from tests.api.pages.html import see, words


async def test_the_list_contains_no_text_of_a_question(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await question_run(connection)
    assert "tea" not in words(await see(client, "/runs"))


async def test_the_list_continues_after_its_last_run(
    client: httpx.AsyncClient, ctx: ApiContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.pages.runs.PAGE_ROWS", 1)
    async with ctx.database.connection() as connection:
        shown = await participant_run(connection)
    first = await see(client, "/runs")
    assert f'href="/runs?before={shown.run_id}">Older' in first.text
    below = await see(client, "/runs", before=shown.run_id)
    assert f'href="/runs/{shown.run_id}"' not in below.text
    assert "index" in words(below)


async def test_a_search_finds_runs_by_name_note_number_kind_and_state(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        shown = await participant_run(connection)
        await change_run(connection, shown.run_id, {"name": "Baseline <b>", "note": "of the paper"})
        asked = await question_run(connection)
    for typed in ("baseline", "of the paper", f"r{shown.run_id}", "participant failed"):
        page = await see(client, "/runs", search=typed)
        assert f'href="/runs/{shown.run_id}"' in page.text
        assert f'href="/runs/{asked.run_id}"' not in page.text
        assert "Baseline &lt;b&gt;" in page.text
    page = await see(client, "/runs", search="baseline", kind="query")
    assert "No runs match" in page.text
    assert 'href="/runs?kind=participant&amp;search=baseline"' in page.text
