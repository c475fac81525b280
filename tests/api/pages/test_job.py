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


@pytest.mark.parametrize("name", ["running", "waiting", "zero_shot"])
async def test_a_job_in_any_state_has_a_page(client: httpx.AsyncClient, shown: ShownRun, name: str) -> None:
    page = await see(client, f"/jobs/{getattr(shown, name)}")
    assert page.status_code == 200
    assert ("No worker has started a stage" in page.text) is (name == "waiting")


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
