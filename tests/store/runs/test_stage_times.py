"""Durations of stages and progress of a run."""

from collections.abc import Awaitable, Callable

import pytest

from store.database import Connection, Database
from store.runs.runs import StoredRun
from store.runs.stage_times import Progress, progress, stage_times
from tests.store.scored import TIMED_OUT, committing, failing, take

StoreRun = Callable[..., Awaitable[StoredRun]]


async def test_attempts_are_counted_and_timed_per_stage(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", stages=("extract", "embed"))
    async with database.connection() as connection:
        for job_id, seconds in zip(stored.job_ids, (1, 2, 9), strict=True):
            await take(connection, job_id, "extract", committing({"quotes": {}}))
            await _lasted(connection, job_id, "extract", seconds)
        await take(connection, stored.job_ids[0], "embed", failing(TIMED_OUT))
        await _lasted(connection, stored.job_ids[0], "embed", 4)
        extract, embed = await stage_times(connection, stored.run_id)
    assert (extract.stage, extract.attempts, extract.unsuccessful) == ("extract", 3, 0)
    assert (extract.total, extract.median, extract.longest) == (12, 2, 9)
    assert extract.p95 == pytest.approx(2 + 0.9 * 7)
    assert (embed.stage, embed.attempts, embed.unsuccessful, embed.total) == ("embed", 1, 1, 4)


async def test_what_is_left_is_estimated_from_the_last_ten_minutes(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract", "embed"))
    async with database.connection() as connection:
        before = await progress(connection, stored.run_id)
        await take(connection, stored.job_ids[0], "extract", committing({"quotes": {}}))
        await connection.execute(
            "UPDATE stage_run SET started_at = now() - interval '30 seconds' WHERE stage = 'extract' AND job_id = $1",
            stored.job_ids[0],
        )
        after = await progress(connection, stored.run_id)
        await connection.execute("UPDATE stage_run SET finished_at = now() - interval '1 day' WHERE status = 'done'")
        later = await progress(connection, stored.run_id)
    assert before == Progress(0, 4, None)
    assert (after.done, after.stages) == (1, 4)
    assert after.seconds_left == pytest.approx(90, abs=20)
    assert later == Progress(1, 4, None)


async def _lasted(connection: Connection, job_id: int, stage: str, seconds: float) -> None:
    await connection.execute(
        "UPDATE stage_attempt SET ended_at = started_at + $3 * interval '1 second' WHERE job_id = $1 AND stage = $2",
        job_id,
        stage,
        float(seconds),
    )
