"""Runs that wait for another run."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import deletions, jobs, overviews
from store.runs.problems import problems
from store.views import run_state
from tests.stages.reports.builders import scores
from tests.store.scored import TIMED_OUT, store_scored_run

OPEN = {("zero_shot", 316): None}
DONE = {("zero_shot", 316): scores("1")}
FAILED = {("zero_shot", 316): scores("1"), ("zero_shot", 319): TIMED_OUT}


async def waiting_run(connection: Connection, first: Mapping[Any, Any]) -> tuple[int, int]:
    """A run of these jobs, and another that waits for it."""
    after_id, run_id = [await store_scored_run(connection, jobs) for jobs in (first, OPEN)]
    await jobs.wait_for(connection, run_id, after_id)
    return after_id, run_id


async def state(connection: Connection, run_id: int) -> tuple[str, str | None]:
    row = await connection.fetchrow("SELECT status, note FROM job WHERE run_id = $1", run_id)
    return row["status"], row["note"]


async def test_a_run_waits_while_the_other_one_works(connection: Connection) -> None:
    after_id, run_id = await waiting_run(connection, OPEN)

    assert await jobs.end_waits(connection) == []
    assert await state(connection, run_id) == ("paused", f"Waits until r{after_id} has succeeded.")
    found = await run_state(connection, run_id)
    assert not found.is_idle
    assert "paused" not in [one.what for one in await problems(connection, is_broker_away=False)]
    await jobs.hold(connection, JobStatus.PAUSED, None, run_id=after_id)
    assert await jobs.end_waits(connection) == []


@pytest.mark.parametrize(("first", "ends"), [(DONE, "waiting"), (FAILED, "cancelled")])
async def test_it_begins_after_success_and_is_cancelled_with_a_reason_after_anything_else(
    first: Mapping[Any, Any], ends: str, connection: Connection
) -> None:
    after_id, run_id = await waiting_run(connection, first)

    ((ended, after, has_succeeded),) = await jobs.end_waits(connection)

    assert (ended, after, has_succeeded) == (run_id, after_id, ends == "waiting")
    reason = None if has_succeeded else f"r{after_id}, which it waited for, did not succeed."
    assert await state(connection, run_id) == (ends, reason)
    assert await jobs.end_waits(connection) == []


async def test_it_is_cancelled_when_the_other_run_is_deleted(connection: Connection) -> None:
    after_id, run_id = await waiting_run(connection, DONE)
    await deletions.delete_run(connection, after_id)

    await jobs.end_waits(connection)

    assert (await state(connection, run_id))[0] == "cancelled"


async def test_a_third_run_waits_for_a_waiting_one(connection: Connection) -> None:
    _, second = await waiting_run(connection, FAILED)
    third = await store_scored_run(connection, OPEN)
    await jobs.wait_for(connection, third, second)

    await jobs.end_waits(connection)
    await jobs.end_waits(connection)

    assert (await state(connection, third))[0] == "cancelled"


async def test_jobs_that_somebody_resumed_are_left_alone(connection: Connection) -> None:
    _, run_id = await waiting_run(connection, FAILED)
    await jobs.resume(connection, run_id=run_id)

    await jobs.end_waits(connection)

    overview = await overviews.get(connection, run_id)
    assert Counter(overview.states) == {"waiting": 1}
