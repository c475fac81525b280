"""Durations of stages and progress of a run."""

from collections.abc import Mapping

import pytest

from store.database import Connection
from store.runs import past_work as times_module
from store.runs.past_work import Progress, progress
from tests.store.conftest import StoreRun
from tests.store.scored import committing, take


async def test_what_is_left_is_estimated_from_the_times_of_each_stage(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("1", "2", "3", stages=("extract", "score"))
    first, second = stored.job_ids[:2]
    before = await progress(connection, stored.run_id)
    await _took(connection, first, "extract", {"quotes": {}}, seconds=1, ended=100)
    await _took(connection, second, "extract", {"quotes": {}}, seconds=1, ended=99)
    no_score_yet = await progress(connection, stored.run_id)
    await _took(connection, first, "score", {}, seconds=50, ended=40)
    after = await progress(connection, stored.run_id)
    await connection.execute("UPDATE stage_run SET finished_at = now() - interval '1 day' WHERE status = 'done'")
    later = await progress(connection, stored.run_id)

    assert before == Progress(0, 6, None)
    assert no_score_yet == Progress(2, 6, None)
    # One extraction of 1 s and two scores of 50 s, one stage at a time.
    assert (after.done, after.stages) == (3, 6)
    assert after.seconds_left == pytest.approx(101, abs=1)
    assert later == Progress(3, 6, None)


async def test_of_a_large_run_jobs_are_counted_and_their_pace_is_that_of_the_last_minutes(
    connection: Connection, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await store_run("1", "2", "3", "4", "5", stages=("extract", "score"))
    monkeypatch.setattr(times_module, "_LARGE_JOBS", 4)
    before = await progress(connection, stored.run_id)
    for job_id, ended in zip(stored.job_ids, (40, 20), strict=False):
        await take(connection, job_id, "extract", committing({"quotes": {}}))
        await take(connection, job_id, "score", committing({}))
        await connection.execute(
            "UPDATE job SET finished_at = now() - $2 * interval '1 second' WHERE id = $1", job_id, ended
        )
    await take(connection, stored.job_ids[2], "extract", committing({"quotes": {}}))
    after = await progress(connection, stored.run_id)

    assert before == Progress(0, 10, None)
    assert (after.done, after.stages) == (4, 10)
    # Two jobs in 40 seconds, and three to go.
    assert after.seconds_left == pytest.approx(60, abs=2)


async def _took(
    connection: Connection, job_id: int, stage: str, output: Mapping[str, object], *, seconds: int, ended: int
) -> None:
    """A stage that took so many seconds and ended so many seconds ago."""
    await take(connection, job_id, stage, committing(output))
    await connection.execute(
        "UPDATE stage_run SET started_at = now() - $3 * interval '1 second', "
        "finished_at = now() - $4 * interval '1 second' WHERE job_id = $1 AND stage = $2",
        job_id,
        stage,
        seconds + ended,
        ended,
    )
