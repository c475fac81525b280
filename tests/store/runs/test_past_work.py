"""What estimates read of past runs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from store.database import Database
from store.runs import past_work, runs
from store.runs.past_work import Pace, WorkedStage, pace_of
from store.runs.runs import NewJob
from tests.store.conftest import new_run

BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
JOBS: Final = 1000
#: One job after the other, ten seconds each, with the same call to pay.
WORK: Final = """
WITH done AS (UPDATE job SET status = 'succeeded' WHERE run_id = $1 RETURNING id, ordinal),
attempt AS (
    INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome)
    SELECT id, 'extract', 1, 1, 'worker', now() + ordinal * interval '10 s', now() + (ordinal + 1) * interval '10 s',
           'done'
    FROM done RETURNING id
),
call AS (
    INSERT INTO llm_call (key, model, digest, request, reply, stop_reason, seconds)
    VALUES ('k', 'm', 'd', '{}', '', 'stop', 1) RETURNING id
)
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused)
SELECT attempt.id, 0, call.id, 'extract', false FROM attempt, call
"""


async def test_a_large_run_is_known_from_a_sample_of_its_jobs_in_each_mode(database: Database) -> None:
    jobs = [
        NewJob(mode=("few_shot", "zero_shot")[number % 2], subject=str(number), inputs={}, stages=("extract",))
        for number in range(JOBS)
    ]
    async with database.connection() as connection:
        run_id = (await runs.store(connection, replace(new_run(), jobs=jobs))).run_id
        await connection.execute(WORK, run_id)

        (pace,) = await past_work.paces(connection, [run_id], {("few_shot", "extract"), ("zero_shot", "extract")})
        (half,) = await past_work.paces(connection, [run_id], {("few_shot", "extract")})
        others = await past_work.paces(connection, [run_id], {("few_shot", "extract"), ("few_shot", "score")})
        found = await past_work.past_stages(connection, [run_id], ["few_shot"])

    assert (pace.is_whole, half.is_whole, others) == (True, False, [])
    assert pace.paid == pace.jobs
    assert (half.jobs, half.seconds) == pytest.approx((pace.jobs / 2, pace.seconds / 2), rel=0.02)
    assert abs(pace.jobs - JOBS) <= JOBS / 100
    assert abs(pace.seconds - 10 * JOBS) <= 10 * JOBS / 100
    assert 0 < found["extract"].jobs < JOBS / 10
    # Of ten seconds one is that of the call.
    assert found["extract"].seconds == 9 * found["extract"].jobs
    assert found["extract"].call_seconds == found["extract"].paid_jobs == found["extract"].jobs


def test_some_stages_of_a_run_have_their_share_of_its_time() -> None:
    worked = [
        WorkedStage(
            7, mode, stage, jobs=4, paid=paid, seconds=seconds, began=BEGAN, ended=BEGAN + timedelta(seconds=60)
        )
        for mode, stage, paid, seconds in (
            ("few_shot", "extract", 4, 50.0),
            ("few_shot", "score", 8, 30.0),
            ("zero_shot", "score", 4, 20.0),
        )
    ]

    scores = pace_of(worked, {("few_shot", "score"), ("zero_shot", "score")})
    everything = pace_of(worked, {(one.mode, one.stage) for one in worked})

    assert scores == Pace(7, jobs=8, paid=12, seconds=30.0, is_whole=False)
    assert everything == Pace(7, jobs=8, paid=16, seconds=60.0, is_whole=True)
    assert pace_of(worked, {("few_shot", "embed")}) is None
