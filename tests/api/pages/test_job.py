"""The page of a job."""

import re

import httpx
import pytest

from api.context import ApiContext
from schemas.statuses import JobStatus
from store.runs import jobs
from tests.api.pages.example_runs import (
    CHUNK_TEXTS,
    MODEL_REPLY,
    QUOTES,
    REPLY,
    ShownRun,
    participant_run,
    question_run,
)
from tests.api.pages.html import see, send, words


@pytest.fixture
async def shown(ctx: ApiContext) -> ShownRun:
    """A run with a job in every state."""
    async with ctx.database.connection() as connection:
        return await participant_run(connection)


async def test_the_lineage_of_scores_leads_back_to_quotes(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/jobs/{shown.succeeded}")
    assert page.status_code == 200
    places = [page.text.index(f'id="stage-{name}"') for name in ("score", "assemble", "validate", "rerank", "extract")]
    assert places == sorted(places)
    text = words(page)
    assert "no mention" in text or "N/A" in text
    for passage in (*CHUNK_TEXTS, *QUOTES):
        assert passage in text
    assert "accept" in text and "reject" in text
    assert "(1 quote rejected: not in the transcript)" in text
    for mended in (
        "asked again: schema validation",
        "repaired: json_fixups_applied, unknown_keys_dropped",
        "keys of no item, dropped: PHQ8_xxxx",
        "1 text longer than the embedder reads, cut",
        "asked again: cut off",
    ):
        assert mended in text
    assert set(re.findall(r'href="#references-(\w+)"', page.text)) == {"Sleep"}
    assert 'id="references-Sleep"' in page.text


async def test_the_lineage_of_an_answer_leads_back_to_the_question(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        query = await question_run(connection)
    page = await see(client, f"/jobs/{query.job_id}")
    assert page.status_code == 200
    text = words(page)
    assert "Oxygen [S1] [S9]." in text
    assert "It cites S9, which the prompt does not have." in text
    assert 'href="#source-S1"' in page.text
    assert page.text.index('id="source-S1"') < page.text.index('id="chunk-1"') < page.text.index('id="stage-expand"')
    assert "judge accepted 1 of 3 chunks" in text
    assert "passage 2 with the lines around it" in text
    assert "dense by hyde: 1 chunk" in text
    assert "catechins turn brown" in text
    assert text.rindex("Why is tea dark?") > text.index("catechins turn brown")


async def test_a_job_is_read_from_its_result_to_its_attempts(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    async with ctx.database.connection() as connection:
        query = await question_run(connection)
    for job_id, first in ((shown.succeeded, "score"), (query.job_id, "generate")):
        text = (await see(client, f"/jobs/{job_id}")).text
        parts = ("<h2>Result</h2>", f'id="stage-{first}"', "<h2>How it came about</h2>", "<h2>Attempts</h2>")
        places = [text.index(part) for part in (*parts, "<h2>Attempt details</h2>")]
        assert places == sorted(places)
    assert re.search(r'Oxygen <span class="cites">\[<a[^>]* href="#source-S1"', text)


async def test_a_failure_comes_first_with_its_remedy(client: httpx.AsyncClient, shown: ShownRun) -> None:
    text = (await see(client, f"/jobs/{shown.failed}")).text
    failure = text.index("Stage validate failed, attempt 2")
    assert failure < text.index("`ragq retry` asks again") < text.index("<h2>Stored so far</h2>")
    assert "<h2>Result</h2>" not in text


async def test_every_attempt_shows_its_error_and_its_private_details(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    page = await see(client, f"/jobs/{shown.failed}")
    text = words(page)
    assert "validate, attempt 1" in text and "validate, attempt 2" in text
    assert text.count(MODEL_REPLY) == 2
    shown_at_once = re.sub(r"(?s)<details.*?</details>", "", page.text)
    assert MODEL_REPLY not in shown_at_once
    assert "The validator&#39;s reply holds no verdict" in shown_at_once


async def test_calls_are_shown_with_prompt_reply_and_whether_they_were_reused(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    text = words(await see(client, f"/jobs/{shown.failed}"))
    assert "Call 1: judge reference, gemma at memory, reused from r2, 120 tokens in, 8 out" in text
    assert "Does this speak of sleep?" in text
    assert REPLY.replace('"', "&#34;") in text


async def test_attempts_are_drawn_on_one_timeline(client: httpx.AsyncClient, shown: ShownRun) -> None:
    page = await see(client, f"/jobs/{shown.failed}")
    drawn = re.search(r'(?s)<svg class="waterfall".*?</svg>', page.text)
    assert drawn is not None
    assert drawn[0].count("<rect") == 6
    assert "style=" not in page.text


@pytest.mark.parametrize("name", ["running", "waiting", "zero_shot"])
async def test_a_job_in_any_state_has_a_page(client: httpx.AsyncClient, shown: ShownRun, name: str) -> None:
    page = await see(client, f"/jobs/{getattr(shown, name)}")
    assert page.status_code == 200
    assert ("No worker has started a stage" in page.text) is (name == "waiting")


async def test_outputs_of_another_version_are_shown_as_they_are(
    client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun
) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute(
            """UPDATE stage_attempt SET output = '{"words_of_old": "<b>bold</b>"}' WHERE job_id = $1""", shown.succeeded
        )
    page = await see(client, f"/jobs/{shown.succeeded}")
    assert page.status_code == 200
    assert "1 field: words_of_old" in words(page)
    assert "&lt;b&gt;bold&lt;/b&gt;" in page.text
    assert "<b>bold" not in page.text


async def test_an_index_job_shows_stages_and_fields(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        job_id = await connection.fetchval(
            "INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)"
            " VALUES ('index', 'i', 'demo', '{}', 's', '{}', '0') RETURNING id"
        )
        job_id = await connection.fetchval(
            "INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status)"
            " VALUES ($1, 0, 'index', 'references', '303', '{}', 'waiting') RETURNING id",
            job_id,
        )
    page = await see(client, f"/jobs/{job_id}")
    assert page.status_code == 200
    assert "index" in words(page)


async def test_a_job_is_retried_from_its_page(client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun) -> None:
    page = await see(client, f"/jobs/{shown.failed}")
    reply = await send(client, page, f"/jobs/{shown.failed}/retry")
    assert reply.status_code == 303
    assert reply.headers["location"] == f"/jobs/{shown.failed}?action=retry&jobs=1"
    async with ctx.database.connection() as connection:
        job = await jobs.job(connection, shown.failed)
    assert job is not None
    assert job.status is JobStatus.WAITING


async def test_a_job_is_cancelled_with_a_note(client: httpx.AsyncClient, ctx: ApiContext, shown: ShownRun) -> None:
    page = await see(client, f"/jobs/{shown.waiting}")
    await send(client, page, f"/jobs/{shown.waiting}/cancel", note="wrong split")
    assert "wrong split" in words(await see(client, f"/jobs/{shown.waiting}"))


async def test_a_missing_job_is_not_found(client: httpx.AsyncClient) -> None:
    page = await see(client, "/jobs/77")
    assert page.status_code == 404
    assert "Job j77 does not exist" in words(page)
