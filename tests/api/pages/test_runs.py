"""The list of runs."""

import httpx

from schemas.values.requests import RunChanges
from services.runs import change_run
from store.database import Connection
from tests.api.pages.example_runs import participant_run, question_run
from tests.api.pages.html import see, words


async def test_the_list_contains_no_text_of_a_question(client: httpx.AsyncClient, connection: Connection) -> None:
    await question_run(connection)
    assert "tea" not in words(await see(client, "/runs"))


async def test_a_search_finds_runs_by_name_note_number_kind_and_state(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    shown = await participant_run(connection)
    await change_run(connection, shown.run_id, RunChanges(name="Baseline <b>", note="of the paper"))
    asked = await question_run(connection)
    for typed in ("baseline", "of the paper", f"r{shown.run_id}", "participant failed"):
        page = await see(client, "/runs", search=typed)
        assert f'href="/runs/{shown.run_id}"' in page.text
        assert f'href="/runs/{asked.run_id}"' not in page.text
        assert "Baseline &lt;b&gt;" in page.text
    page = await see(client, "/runs", search="baseline", kind="query")
    assert "No runs match" in page.text
    assert 'href="/runs?kind=participant&amp;search=baseline"' in page.text
