"""The page of a run."""

import csv
import io
import json

import httpx
import pytest

from api.context import ApiContext
from schemas.statuses import JobStatus
from schemas.values.run_limits import RunLimits
from store.database import Connection
from store.runs import job_control, overviews, run_limits
from tests.api.pages.example_runs import MODEL_REPLY, ShownRun, participant_run
from tests.api.pages.html import forms, see, send, words
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run


@pytest.fixture
async def shown(ctx: ApiContext) -> ShownRun:
    """A run with a job in every state."""
    async with ctx.database.connection() as connection:
        return await participant_run(connection)


async def test_jobs_are_listed_with_their_stages_failed_ones_first(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    assert page.status_code == 200
    places = [page.text.index(f'href="/jobs/{job_id}">j{job_id}</a></th>') for job_id in _by_urgency(shown)]
    assert places == sorted(places)
    text = words(page)
    assert "1 failed, 1 running, 1 waiting, 2 succeeded" in text
    assert "failed, 2 attempts" in text
    assert "Sleep&nbsp;1/1" in text
    assert "15/31 stages" in text


async def test_failures_show_stage_type_and_category_and_no_private_text(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    text = words(page)
    assert "Stage validate , attempt 2: The validator&#39;s reply holds no verdict" in text
    assert "LLMResponseParseError validation_parse" in text
    assert MODEL_REPLY not in page.text


async def test_a_state_filters_the_jobs(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/runs/{shown.run_id}", state="waiting")
    assert f"j{shown.waiting}</a></th>" in page.text
    assert f"j{shown.running}</a></th>" not in page.text
    assert "No paused job" in words(await see(client, f"/runs/{shown.run_id}", state="paused"))


async def test_thousands_of_jobs_are_paged(
    client: httpx.AsyncClient, ctx: ApiContext, monkeypatch: pytest.MonkeyPatch, shown: ShownRun
) -> None:
    monkeypatch.setattr("api.pages.run.PAGE_JOBS", 2)
    page = await see(client, f"/runs/{shown.run_id}", part=2)
    assert "page 2 of 3" in words(page)
    listed = [job_id for job_id in _by_urgency(shown) if f"j{job_id}</a></th>" in page.text]
    assert listed == _by_urgency(shown)[2:4]


async def test_a_failed_job_is_retried_from_the_page_of_its_run(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    page = await see(client, f"/runs/{shown.run_id}")
    reply = await send(client, page, f"/jobs/{shown.failed}/retry")
    assert reply.status_code == 303
    assert reply.headers["location"] == f"/runs/{shown.run_id}?action=retry&jobs=1"
    assert await _states(ctx, shown) == {
        JobStatus.RUNNING: 1,
        JobStatus.SUCCEEDED: 2,
        JobStatus.WAITING: 2,
    }
    assert "1 job retried." in words(await client.get(reply.headers["location"], headers={"Accept": "text/html"}))


async def test_a_run_over_its_budget_is_resumed_with_another(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    async with ctx.database.connection() as connection:
        await run_limits.keep(connection, shown.run_id, RunLimits(max_llm_calls=5))
        await job_control.hold(connection, JobStatus.PAUSED, "5 calls are used", run_id=shown.run_id)
    page = await see(client, f"/runs/{shown.run_id}")
    assert "of 5 language model calls" in words(page)
    assert "Resume with these limits" in words(page)

    wrong = await send(client, page, f"/runs/{shown.run_id}/resume", max_llm_calls="many")
    assert wrong.status_code == 409
    await send(client, page, f"/runs/{shown.run_id}/resume", max_llm_calls="50")

    async with ctx.database.connection() as connection:
        limits = await run_limits.find(connection, shown.run_id)
    assert limits is not None
    assert (limits.max_llm_calls, limits.max_tokens) == (50, None)
    assert JobStatus.PAUSED not in await _states(ctx, shown)


async def test_only_what_changes_something_is_offered(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    async with ctx.database.connection() as connection:
        await job_control.hold(connection, JobStatus.CANCELLED, None, run_id=shown.run_id)
        await connection.execute("DELETE FROM job WHERE id = $1", shown.failed)
    page = await see(client, f"/runs/{shown.run_id}")
    address = f"/runs/{shown.run_id}"
    assert [one.action for one in forms(page)] == [f"{address}/describe", f"{address}/delete"]
    assert "Finished:" in words(page)


async def test_a_form_without_the_csrf_token_of_this_browser_changes_nothing(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    before = await _states(ctx, shown)
    reply = await client.post(f"/runs/{shown.run_id}/cancel", headers={"Accept": "text/html"}, data={"note": ""})
    assert reply.status_code == 403
    assert await _states(ctx, shown) == before


def _by_urgency(shown: ShownRun) -> list[int]:
    return [shown.failed, shown.running, shown.waiting, shown.succeeded, shown.zero_shot]


async def _states(ctx: ApiContext, shown: ShownRun) -> dict[JobStatus, int]:
    async with ctx.database.connection() as connection:
        overview = await overviews.overview(connection, shown.run_id)
    assert overview is not None
    return overview.states


async def test_the_live_part_is_loaded_again_as_it_was_asked_for(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/runs/{shown.run_id}", state="waiting")
    assert f'sse-connect="/runs/{shown.run_id}/events"' in page.text
    assert f'hx-get="/runs/{shown.run_id}?state=waiting"' in page.text
    assert page.text.count('id="live"') == 1


async def keep_baseline(connection: Connection, run_id: int) -> None:
    """As if the run had been submitted beside a training split."""
    record = {"split": "paper-train", "participants": 58, "median": labels("11111111"), "mode": labels("00000000")}
    await connection.execute(
        "UPDATE run SET request = request || $2 WHERE id = $1", run_id, json.dumps({"baseline": record})
    )


async def test_scores_are_downloaded_as_csv_and_json(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    async with ctx.database.connection() as connection:
        await import_labels(connection, {316: labels("1023")})
    found = await client.get(f"/runs/{shown.run_id}/scores.csv")
    assert "attachment" in found.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert [(row["participant"], row["mode"], row["status"]) for row in rows] == [
        ("316", "few_shot", "succeeded"),
        ("316", "zero_shot", "succeeded"),
        ("321", "few_shot", "failed"),
        ("330", "few_shot", "running"),
        ("339", "few_shot", "waiting"),
    ]
    assert (rows[0]["Sleep"], rows[0]["truth_Sleep"], rows[2]["Sleep"], rows[2]["truth_Sleep"]) == ("2", "2", "", "")
    table = (await client.get(f"/runs/{shown.run_id}/scores.json")).json()
    assert [row["participant_id"] for row in table["participants"]] == [316, 321, 330, 339]


@pytest.mark.parametrize("ending", ["html", "csv", "json"])
async def test_the_report_is_downloaded(client: httpx.AsyncClient, ctx: ApiContext, ending: str) -> None:
    async with ctx.database.connection() as connection:
        await import_labels(connection, {316: labels("10"), 319: labels("2")})
        run_id = await store_scored_run(connection, {("zero_shot", 316): scores("1"), ("zero_shot", 319): scores("0")})
        await keep_baseline(connection, run_id)
    page = await see(client, f"/runs/{run_id}")
    assert f'href="/runs/{run_id}/report.{ending}"' in page.text
    found = await client.get(f"/runs/{run_id}/report.{ending}")
    assert found.status_code == 200
    assert {"html": "MAE weighted", "csv": "item_mae_weighted", "json": '"item_mae_weighted"'}[ending] in found.text
    assert {"html": "mode of paper-train", "csv": "less_median_item_mae_weighted", "json": "baselines"}[
        ending
    ] in found.text
    assert (await client.get(f"/runs/{run_id + 1}/report.{ending}")).status_code == 404


async def test_name_and_note_are_stored_and_removed_by_the_form(client: httpx.AsyncClient, shown: ShownRun) -> None:
    address = f"/runs/{shown.run_id}"
    reply = await send(
        client, await see(client, address), f"{address}/describe", name="few <b>shot</b>", note="one\r\ntwo"
    )
    assert (reply.status_code, reply.headers["location"]) == (303, f"{address}?described=true")
    page = await see(client, address)
    assert f"Run {shown.run_id} “few &lt;b&gt;shot&lt;/b&gt;”" in page.text
    assert "one\ntwo" in page.text
    await send(client, page, f"{address}/describe", name="", note="")
    assert "shot&lt;" not in (await see(client, address)).text
    refused = await send(client, page, f"{address}/describe", name="r12", note="")
    assert (refused.status_code, "one line of 1 to 100 characters" in refused.text) == (422, True)


async def test_a_run_is_deleted_from_its_page_once_it_has_finished(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    address = f"/runs/{shown.run_id}"
    page = await see(client, address)
    assert f"{address}/delete" not in page.text
    assert "An unfinished run is not deleted" in page.text
    async with ctx.database.connection() as connection:
        await connection.execute("UPDATE stage_run SET status = 'waiting' WHERE status = 'running'")
        await job_control.hold(connection, JobStatus.CANCELLED, None, run_id=shown.run_id)
    reply = await send(client, await see(client, address), f"{address}/delete")
    listed = words(await see(client, reply.headers["location"]))
    assert f"Run {shown.run_id} is deleted: 5 jobs" in listed
    assert (await see(client, address)).status_code == 404
