"""The page of a run."""

from types import SimpleNamespace
from typing import Any

import httpx

from api.context import ApiContext
from schemas.statuses import JobStatus
from schemas.values.chat import ChatCall, Message, ModelIdentity
from store.database import Connection
from store.runs import batches, jobs, notifications, overviews
from tests.api.pages.example_runs import MODEL_REPLY, ShownRun
from tests.api.pages.html import forms, see, send, words


async def test_failures_show_stage_type_and_category_and_no_private_text(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    text = words(page)
    assert "Stage validate , attempt 2: The validator&#39;s reply holds no verdict" in text
    assert "LLMResponseParseError validation_parse" in text
    assert MODEL_REPLY not in page.text


async def test_a_job_has_one_line_for_the_references_that_it_kept_and_rejected(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    row = words(page).partition(f"j{shown.succeeded} ")[2].partition(f"j{shown.failed} ")[0]
    assert " 1 / 1 " in row and "Sleep" not in row


async def test_a_failed_job_is_retried_from_the_page_of_its_run(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    reply = await send(client, page, f"/jobs/{shown.failed}/retry")
    assert reply.status_code == 303
    assert reply.headers["location"] == f"/runs/{shown.run_id}"
    assert await _states(ctx, shown) == {JobStatus.RUNNING: 1, JobStatus.SUCCEEDED: 2, JobStatus.WAITING: 2}


async def test_only_what_changes_something_is_offered(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=shown.run_id)
    await connection.execute("DELETE FROM job WHERE id = $1", shown.failed)
    page = await see(client, f"/runs/{shown.run_id}")
    assert [one.action for one in forms(page)] == []
    assert "Finished:" in words(page)


async def _states(ctx: ApiContext, shown: ShownRun) -> dict[JobStatus, int]:
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, shown.run_id)
    return overview.states


async def test_the_live_part_is_loaded_again_as_it_was_asked_for(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/runs/{shown.run_id}", state="waiting")
    assert f'sse-connect="/runs/{shown.run_id}/events"' in page.text
    assert f'hx-get="/runs/{shown.run_id}?state=waiting"' in page.text
    assert page.text.count('id="live"') == 1


async def test_a_run_says_whom_it_tells_and_what_waits_for_a_batch(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    identity = ModelIdentity(backend="openai", server="https://api.example.org/v1", model="small", digest="")
    call = ChatCall(model="small", messages=(Message(role="user", content="private"),), purpose="test")
    await notifications.keep(connection, shown.run_id, "https://hooks.example.org/<secret>")
    await batches.ask_for(connection, shown.run_id, 24)
    job_id = await connection.fetchval("SELECT min(id) FROM job WHERE run_id = $1", shown.run_id)
    claim: Any = SimpleNamespace(run_id=shown.run_id, job_id=job_id, stage="score")
    await batches.register(connection, claim, "key", call, identity, 24)

    page = words(await see(client, f"/runs/{shown.run_id}"))

    assert "1 call will be sent as a batch" in page and "private" not in page
    assert "tells https://hooks.example.org/… when it has finished or is paused" in page and "secret" not in page
