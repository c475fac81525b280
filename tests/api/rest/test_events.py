"""Event streams, over a real port: an in-process transport would wait until they end."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from httpx_sse import ServerSentEvent

from api.context import ApiContext
from store.database import Connection
from store.runs import jobs, runs
from store.runs.runs import StoredRun
from tests import eventually
from tests.api.rest.conftest import Open
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, committing, failing, take


@pytest.fixture
async def stored(connection: Connection) -> StoredRun:
    """A run of one job of two stages."""
    return await runs.store(connection, new_run(("316",), stages=("extract", "embed")))


async def until(events: AsyncIterator[ServerSentEvent], name: str, **wanted: object) -> dict[str, Any]:
    """The next event of a name with this data."""
    async for event in events:
        found: dict[str, Any] = json.loads(event.data)
        if event.event == name and wanted.items() <= found.items():
            return found
    raise AssertionError("The stream ended.")


async def complete_stage(connection: Connection, job_id: int, stage: str) -> None:
    await take(connection, job_id, stage, committing({"quotes": {}}))


async def test_a_stream_follows_a_run_past_its_end_and_ends_with_its_reader(
    watching: Open, ctx: ApiContext, connection: Connection, stored: StoredRun
) -> None:
    (job_id,) = stored.job_ids
    async with watching(f"/runs/{stored.run_id}/events") as events:
        first = await until(events, "changed")
        await take(connection, job_id, "extract", failing(TIMED_OUT))
        assert (await until(events, "idle"))["states"] == {"failed": 1}

        await jobs.retry(connection, run_id=stored.run_id)
        assert (await until(events, "changed", is_idle=False))["states"] == {"waiting": 1}

        await complete_stage(connection, job_id, "extract")
        second = await until(events, "changed", stages_done=1)
        await complete_stage(connection, job_id, "embed")
        assert (await until(events, "idle"))["states"] == {"succeeded": 1}
        assert ctx.streams.open == 1
    await eventually.until(lambda: not ctx.streams.open)

    assert first == {
        "run_id": stored.run_id,
        "states": {"waiting": 1},
        "stages_done": 0,
        "stages": 2,
        "seconds_left": None,
        "is_idle": False,
    }
    # Stage `embed` has not been finished yet, so that its time is not known.
    assert (second["states"], second["is_idle"], second["seconds_left"]) == ({"running": 1}, False, None)


async def test_a_burst_of_changes_becomes_few_events(watching: Open, connection: Connection) -> None:
    stored = await runs.store(connection, new_run(range(40), stages=("extract",)))

    async def finish_all() -> None:
        for job_id in stored.job_ids:
            await complete_stage(connection, job_id, "extract")

    async with watching(f"/runs/{stored.run_id}/events") as events:
        sent = 0
        burst = asyncio.create_task(finish_all())
        async for event in events:
            sent += event.event == "changed"
            if event.event == "idle":
                break
        await burst
    assert sent < 40


async def test_a_state_is_read_after_it_was_asked_for(
    ctx: ApiContext, connection: Connection, stored: StoredRun
) -> None:
    early = asyncio.create_task(ctx.streams.state(stored.run_id))
    await asyncio.sleep(0)
    await complete_stage(connection, stored.job_ids[0], "extract")
    late = await ctx.streams.state(stored.run_id)

    assert late is not None and late.stages_done == 1
    assert await early is not None
