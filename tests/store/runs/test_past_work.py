"""What estimates read of past runs, and how far a run is."""

from typing import Final

import pytest

from store.database import Connection
from store.runs import past_work, runs
from store.runs.past_work import PastStage, Progress
from store.runs.runs import NewJob
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import committing, take

#: Jobs of ten seconds each, two at a time, with the same call to pay.
WORK: Final = """
WITH done AS (UPDATE job SET status = 'succeeded' WHERE run_id = $1 RETURNING id, ordinal),
attempt AS (
    INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome)
    SELECT id, 'extract', 1, 1, 'worker', now() + ordinal / 2 * interval '10 s',
           now() + (ordinal / 2 + 1) * interval '10 s', 'succeeded'
    FROM done RETURNING id
),
call AS (
    INSERT INTO llm_call (key, model, digest, request, reply, stop_reason, seconds, prompt_tokens, served_by)
    VALUES ('k', 'm', 'd', '{}', '', 'stop', 1, 7, '{}') RETURNING id
)
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused)
SELECT attempt.id, 0, call.id, 'extract', false FROM attempt, call
"""


async def test_a_large_run_is_known_from_its_first_jobs_in_each_mode(connection: Connection) -> None:
    jobs = [
        NewJob(mode=("few_shot", "zero_shot")[number % 2], subject=str(number), inputs={}, stages=("extract",))
        for number in range(1000)
    ]
    run_id = (await runs.store(connection, new_run(jobs=jobs))).run_id
    assert await past_work.alike_runs(connection, new_run().kind, ["few_shot"], {}, limit=9) == []
    await connection.execute(WORK, run_id)

    alike = await past_work.alike_runs(connection, new_run().kind, ["few_shot"], {}, limit=9)
    found = await past_work.past_stages(connection, [run_id])
    at_once = await past_work.at_once(connection, [run_id])

    assert alike == [run_id]
    median = PastStage(seconds=10, calls=1, prompt_tokens=7, reply_tokens=None)
    assert found == {("few_shot", "extract"): median, ("zero_shot", "extract"): median}
    assert at_once == pytest.approx(2)


#: Newer runs of the kind with other settings, each with a job that succeeded.
OTHERS: Final = """
WITH other AS (
    INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
    SELECT kind, identity || number, profile, '{}', settings_hash, request, version
    FROM run, generate_series(1, $2) AS number WHERE id = $1 RETURNING id
)
INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status)
SELECT other.id, 0, j.kind, j.mode, j.subject, j.inputs, 'succeeded' FROM other, job AS j WHERE j.run_id = $1
"""


async def test_only_the_newest_runs_of_a_kind_are_looked_at(connection: Connection) -> None:
    run = new_run(stages=("extract",), settings={"MODEL_QUANTITATIVE_MODEL": {"value": "m"}})
    run_id = (await runs.store(connection, run)).run_id
    await connection.execute("UPDATE job SET status = 'succeeded'")

    async def alike() -> list[int]:
        wanted = {"MODEL_QUANTITATIVE_MODEL": "m"}
        return await past_work.alike_runs(connection, run.kind, ["few_shot"], wanted, limit=9)

    await connection.execute(OTHERS, run_id, past_work.LOOKED_AT - 1)
    assert await alike() == [run_id]
    await connection.execute(OTHERS, run_id, 1)
    assert await alike() == []


async def test_what_is_left_is_estimated_from_the_times_of_stages(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", stages=("extract", "score"))
    first, second = stored.job_ids[:2]
    before = await past_work.progress(connection, stored.run_id)
    await _took(connection, first, "extract", seconds=1, ended=100)
    await _took(connection, second, "extract", seconds=1, ended=99)
    no_score_yet = await past_work.progress(connection, stored.run_id)
    await _took(connection, first, "score", seconds=50, ended=40)
    after = await past_work.progress(connection, stored.run_id)
    await connection.execute("UPDATE stage_run SET finished_at = now() - interval '1 day' WHERE status = 'done'")
    later = await past_work.progress(connection, stored.run_id)

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
    monkeypatch.setattr(past_work, "_LARGE_JOBS", 4)
    before = await past_work.progress(connection, stored.run_id)
    for job_id, ended in zip(stored.job_ids, (40, 20), strict=False):
        for stage in ("extract", "score"):
            await take(connection, job_id, stage, committing({}))
        await connection.execute(f"UPDATE job SET finished_at = now() - interval '{ended} s' WHERE id = $1", job_id)
    await take(connection, stored.job_ids[2], "extract", committing({"quotes": {}}))
    after = await past_work.progress(connection, stored.run_id)

    assert before == Progress(0, 10, None)
    assert (after.done, after.stages) == (4, 10)
    # Two jobs in 40 seconds, and three to go.
    assert after.seconds_left == pytest.approx(60, abs=2)


async def _took(connection: Connection, job_id: int, stage: str, *, seconds: int, ended: int) -> None:
    """A stage that took so many seconds and ended so many seconds ago."""
    await take(connection, job_id, stage, committing({}))
    times = f"started_at = now() - interval '{seconds + ended} s', finished_at = now() - interval '{ended} s'"
    await connection.execute(f"UPDATE stage_run SET {times} WHERE job_id = $1 AND stage = $2", job_id, stage)
