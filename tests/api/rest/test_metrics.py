"""Metrics for Prometheus, against rows."""

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.context import ApiContext
from api.metrics import Metrics
from store.database import Connection
from store.runs import runs, stages
from store.runs.runs import StoredRun
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, call_model, claimed, committing, enroll, failing, take

Figures = dict[tuple[str, ...], float]


@pytest.fixture
def metrics(ctx: ApiContext) -> Metrics:
    return Metrics(ctx.database, kept_s=0, kept_times=0)


@pytest.fixture
async def stored(connection: Connection) -> StoredRun:
    """A run of three jobs of two stages."""
    return await runs.store(connection, new_run(("1", "2", "3"), stages=("extract", "embed")))


def parsed(text: bytes) -> Figures:
    """Each figure, by its name and the values of its labels, which are in order of the labels' names."""
    return {
        (sample.name.removeprefix("ragq_"), *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


async def test_queues_jobs_leases_and_workers(connection: Connection, metrics: Metrics, stored: StoredRun) -> None:
    first, second, third = stored.job_ids
    await take(connection, first, "extract", committing({"quotes": {}}))
    await connection.execute("UPDATE stage_run SET enq_at = now() - interval '90 seconds' WHERE job_id = $1", second)
    # One that waits for a time is not due.
    await connection.execute("UPDATE stage_run SET not_before = now() + interval '1 hour' WHERE job_id = $1", third)

    figures = parsed(await metrics.text())

    depths = {("queue_depth", "extract"): 1, ("queue_depth", "embed"): 1, ("queue_depth", "score"): 0}
    assert figures | depths == figures
    assert 90 <= figures["queue_oldest_seconds", "extract"] < 150

    await take(connection, first, "embed", failing(TIMED_OUT))
    await connection.execute("UPDATE stage_run SET not_before = NULL")
    await stages.claim(connection, second, "extract", "w", 60)
    await stages.claim(connection, third, "extract", "w", 0)
    await enroll(connection, "embed")

    figures = parsed(await metrics.text())

    jobs = {("jobs", "participant", "failed"): 1, ("jobs", "participant", "running"): 2, ("jobs", "query", "failed"): 0}
    assert figures | jobs | {("leases", "held"): 1, ("leases", "expired"): 1, ("workers",): 1} == figures


async def test_seconds_of_stages_by_outcome(connection: Connection, metrics: Metrics, stored: StoredRun) -> None:
    await metrics.text()
    for job_id, seconds in zip(stored.job_ids[:2], (0.25, 3.5), strict=True):
        await take(connection, job_id, "extract", committing({"quotes": {}}))
        took = "UPDATE stage_attempt SET started_at = ended_at - $2 * interval '1 second' WHERE job_id = $1"
        await connection.execute(took, job_id, seconds)
    await take(connection, stored.job_ids[2], "extract", failing(TIMED_OUT))

    figures = parsed(await metrics.text())

    done = ("succeeded", "extract")
    buckets = {"0.1": 0, "0.25": 1, "2.5": 1, "5.0": 2, "+Inf": 2}
    expected: Figures = {("stage_seconds_bucket", le, *done): count for le, count in buckets.items()}
    expected |= {("stage_seconds_count", *done): 2, ("stage_seconds_sum", *done): 3.75}
    assert figures | expected | {("stage_seconds_count", "failed", "extract"): 1} == figures


async def test_calls_and_tokens_by_cache(connection: Connection, metrics: Metrics, stored: StoredRun) -> None:
    await metrics.text()
    for job_id, is_reused in zip(stored.job_ids[:2], (False, True), strict=True):
        claim = await claimed(connection, job_id)
        asked: dict[str, Any] = {"model": "small", "prompt_tokens": 70, "reply_tokens": 3}
        await call_model(connection, claim.attempt_id, "what she said", is_reused=is_reused, **asked)

    text = await metrics.text()

    figures = parsed(text)
    calls = {("llm_calls_total", "miss", "small"): 1, ("llm_calls_total", "hit", "small"): 1}
    paid = {("llm_tokens_total", "prompt", "small"): 70, ("llm_tokens_total", "reply", "small"): 3}
    assert figures | calls | paid == figures
    assert b"said" not in text


async def test_each_attempt_is_counted_once_however_long_it_takes(
    connection: Connection, metrics: Metrics, stored: StoredRun
) -> None:
    slow, quick, later = stored.job_ids
    held = await claimed(connection, slow)
    await metrics.text()
    await take(connection, quick, "extract", committing({"quotes": {}}))
    await connection.execute(
        "UPDATE stage_attempt SET ended_at = now() - interval '2 minutes' WHERE job_id = $1", quick
    )
    await metrics.text()
    await stages.commit(connection, held, inputs={}, output={})
    await connection.execute("UPDATE stage_attempt SET ended_at = now() - interval '2 minutes' WHERE job_id = $1", slow)
    await metrics.text()
    await take(connection, later, "extract", committing({"quotes": {}}))

    assert parsed(await metrics.text())["stage_seconds_count", "succeeded", "extract"] == 3


async def test_requests_are_timed_by_route_and_by_nothing_that_a_client_sent(client: httpx.AsyncClient) -> None:
    await client.get("/runs/7")
    await client.get("/runs/8")
    await client.get("/secret-words?said=them")

    reply = await client.get("/metrics")

    assert reply.headers["content-type"].startswith("text/plain; version=")
    figures = parsed(reply.content)
    assert figures["http_request_seconds_count", "GET", "/runs/{run_id}", "404"] == 2
    assert figures["http_request_seconds_count", "GET", "none", "404"] == 1
    assert "secret" not in reply.text
