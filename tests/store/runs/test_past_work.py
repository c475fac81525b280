"""What estimates read of past runs."""

from typing import Final

import pytest

from schemas.values.estimates import Effort
from store.database import Connection
from store.runs import past_work, runs
from store.runs.past_work import PastWork
from store.runs.runs import NewJob
from tests.store.conftest import new_run

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
    assert await past_work.past_work(connection, new_run().kind, ["few_shot"], {}) == PastWork()
    await connection.execute(WORK, run_id)

    found = await past_work.past_work(connection, new_run().kind, ["few_shot"], {})

    assert found.run_ids == [run_id]
    assert found.at_once == pytest.approx(2)
    median = Effort(seconds=10, calls_expected=1, prompt_tokens=7)
    assert found.medians == {("few_shot", "extract"): median, ("zero_shot", "extract"): median}


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
    await connection.execute(WORK, run_id)

    for others, alike in ((past_work.LOOKED_AT - 1, [run_id]), (1, [])):
        await connection.execute(OTHERS, run_id, others)
        found = await past_work.past_work(connection, run.kind, ["few_shot"], {"MODEL_QUANTITATIVE_MODEL": "m"})
        assert list(found.run_ids) == alike
