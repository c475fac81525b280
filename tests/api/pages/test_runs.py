"""The pages of runs, jobs and workers."""

import re
from html import unescape
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from schemas.statuses import JobStatus
from schemas.values.chat import ChatCall, Message, ModelIdentity
from schemas.values.requests import RunChanges
from services.runs import change_run
from store.database import Connection
from store.runs import batches, jobs, notifications, overviews
from tests.api.pages.example_runs import MODEL_REPLY, ShownRun, participant_run
from tests.api.pages.html import forms, see, send, words
from tests.services.questions.questions import WHOLE, a_question
from tests.stages.reports.builders import labels, scores
from tests.store.scored import NOTICES, enroll, import_labels, noticed_run, store_scored_run


@pytest.fixture
async def shown(connection: Connection) -> ShownRun:
    """A run with a job in every state."""
    return await participant_run(connection)


async def test_runs_are_found_by_words_and_no_text_of_a_question_is_listed(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    asked = await a_question(connection, *WHOLE)
    await change_run(connection, shown.run_id, RunChanges(name="Baseline <b>", note="of the paper"))

    assert "tea" not in words(await see(client, "/ui/runs"))
    for typed in ("baseline", "of the paper", f"r{shown.run_id}", "participant failed"):
        page = await see(client, "/ui/runs", search=typed)
        assert f'href="/ui/runs/{shown.run_id}"' in page.text
        assert f'href="/ui/runs/{asked.run_id}"' not in page.text
        assert "Baseline &lt;b&gt;" in page.text
    page = await see(client, "/ui/runs", search="baseline", kind="query")
    assert "No runs match" in page.text
    assert 'href="/ui/runs?kind=participant&amp;search=baseline"' in page.text


async def test_a_run_shows_jobs_failures_batches_and_notices_without_private_text_and_retries_jobs(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    identity = ModelIdentity(backend="openai", server="https://api.example.org/v1", model="small", digest="")
    call = ChatCall(model="small", messages=(Message(role="user", content="private"),), purpose="test")
    await notifications.keep(connection, shown.run_id, "https://hooks.example.org/<secret>")
    await batches.ask_for(connection, shown.run_id, 24)
    claim: Any = SimpleNamespace(run_id=shown.run_id, job_id=shown.running, stage="score")
    await batches.register(connection, claim, "key", call, identity, 24)
    await batches.gather(connection, identity.server, quiet_s=0)

    page = await see(client, f"/ui/runs/{shown.run_id}")
    text = words(page)
    references = text.partition(f"j{shown.succeeded} ")[2].partition(f"j{shown.failed} ")[0]
    waiting = (await see(client, f"/ui/runs/{shown.run_id}", state="waiting")).text
    retried = await send(client, page, f"/ui/jobs/{shown.failed}/retry")
    states = (await overviews.get(connection, shown.run_id)).states
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=shown.run_id)
    ended = await see(client, f"/ui/runs/{shown.run_id}")

    assert "Stage validate , attempt 2: The validator&#39;s reply holds no verdict" in text
    assert "LLMResponseParseError validation_parse" in text
    assert MODEL_REPLY not in page.text
    assert "of 1 call to small at https://api.example.org/v1: to be sent" in text and "private" not in text
    assert "tells https://hooks.example.org/… when it has finished or is paused" in text and "secret" not in text
    assert " 1 / 1 " in references and "Sleep" not in references
    assert f'sse-connect="/runs/{shown.run_id}/events"' in waiting
    assert f'hx-get="/ui/runs/{shown.run_id}?state=waiting"' in waiting
    assert waiting.count('id="live"') == 1
    assert (retried.status_code, retried.headers["location"]) == (303, f"/ui/runs/{shown.run_id}")
    assert states == {JobStatus.RUNNING: 1, JobStatus.SUCCEEDED: 2, JobStatus.WAITING: 2}
    assert ([one.action for one in forms(ended)], "Finished:" in words(ended)) == ([], True)


async def test_a_job_shows_its_attempts_with_private_details_folded_and_outputs_of_another_form(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    failed = await see(client, f"/ui/jobs/{shown.failed}")
    await connection.execute("""UPDATE stage_attempt SET output = '{"strange": "as it is"}' WHERE output IS NOT NULL""")
    strange = await see(client, f"/ui/jobs/{shown.succeeded}")

    text = words(failed)
    assert "validate, attempt 1" in text and "validate, attempt 2" in text
    assert text.count(MODEL_REPLY) == 2
    shown_at_once = re.sub(r"(?s)<details.*?</details>", "", failed.text)
    assert MODEL_REPLY not in shown_at_once
    assert "The validator&#39;s reply holds no verdict" in shown_at_once
    assert (strange.status_code, "1 field: strange" in words(strange)) == (200, True)


async def test_every_notice_about_results_stands_with_them(client: httpx.AsyncClient, connection: Connection) -> None:
    assert await noticed_run(connection) == 1
    for address in ["/ui/runs/1", "/ui/jobs/1"]:
        shown = unescape(words(await see(client, address)))

        assert [notice for notice in NOTICES if notice not in shown] == []


async def test_the_workers_that_run_are_listed_with_their_stages(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    for name, pid in (("first", 11), ("second", 12)):
        await enroll(connection, "extract", name=name, host="node1", pid=pid)

    shown = words(await see(client, "/ui/workers"))

    assert [name in shown for name in ("node1:11 extract", "node1:12 extract")] == [True, True]


async def test_several_runs_are_compared_on_a_page(client: httpx.AsyncClient, connection: Connection) -> None:
    await import_labels(connection, {316: labels("22222222")})
    for chars, digits in ((80, "33333333"), (10, "22222222"), (20, "00000000")):
        settings = {"RAGQ_SCORE_TEXT_CHARS": chars}
        await store_scored_run(connection, {("zero_shot", 316): scores(digits)}, settings=settings)

    page = await see(client, "/ui/runs/compare", runs="r1, r2, r3")
    text = words(page)

    assert page.status_code == 200
    assert "RAGQ_SCORE_TEXT_CHARS 80 10 20" in text
    assert "item_mae_weighted" in text and "aurc" in text
    assert "8 rows" in text
    assert 'href="/ui/jobs/2"' in page.text
