"""Runs are stored in batches and found by what they are; how far they are, and what estimates read of them."""

from typing import Final

import pytest

from schemas.statuses import WaitReason
from schemas.values.costs import Effort
from store.database import Connection
from store.runs import call_costs, jobs, ledger, overviews, runs, stages
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import TIMED_OUT, claimed, committing, take

STAGES = {"few_shot": ("extract", "embed", "score"), "zero_shot": ("extract", "score")}


def job(number: int) -> NewJob:
    mode = ("zero_shot", "few_shot")[number % 2]
    return NewJob(mode=mode, subject=str(number), inputs={"n": number, "words": ["é", "\n"]}, stages=STAGES[mode])


def run_of(jobs: int) -> NewRun:
    return new_run(jobs=[*map(job, range(jobs))])


def test_the_identity_is_the_hash_of_the_whole_run() -> None:
    for run in (run_of(3), run_of(0)):
        of_jobs = [[one.mode, one.subject, one.inputs, list(one.stages)] for one in run.jobs]
        assert run.identity == content_hash({"kind": run.kind, "settings": run.settings_hash, "jobs": of_jobs})
    # As older versions computed it.
    assert run_of(2).identity == "24ef6d4505e83628200176f552b59035e9d5f5e83cba694577f507a3e2e6a36d"


async def test_jobs_of_several_batches_have_their_places_stages_and_inputs(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH", 4)
    stored = await runs.store(connection, run_of(9))

    rows = await connection.fetch("SELECT * FROM job WHERE run_id = $1 ORDER BY ordinal", stored.run_id)
    found = await jobs.of_jobs(connection, stored.job_ids)

    assert [row["id"] for row in rows] == stored.job_ids == sorted(stored.job_ids)
    for place, (row, one) in enumerate(zip(rows, map(job, range(9)), strict=True)):
        kept = (row["ordinal"], row["mode"], row["subject"], row["inputs"])
        assert kept == (place, one.mode, one.subject, one.inputs)
        states = {stage.stage: str(stage.status) for stage in found[row["id"]]}
        assert list(states.items()) == list((dict.fromkeys(one.stages, "waiting") | {"extract": "ready"}).items())


async def test_a_wait_is_of_its_stage_alone_and_not_shown_once_that_is_retried(connection: Connection) -> None:
    stored = await runs.store(connection, new_run(("316", "319"), stages=("extract",)))
    job_id, other_id = stored.job_ids
    claim, other = await claimed(connection, job_id, "extract"), await claimed(connection, other_id, "extract")
    await ledger.wait(connection, claim, server="east", reason=WaitReason.CALLS, wait_s=0, refusals=2)
    assert await ledger.of(connection, claim) == (2, True, False)
    assert await ledger.of(connection, other) == (0, False, False)
    again = await claimed(connection, job_id, "extract")
    await stages.fail(connection, again, TIMED_OUT, inputs={}, retry_in_s=60)

    (shown,) = (await jobs.of_jobs(connection, [job_id]))[job_id]

    assert shown.waits_for is not None and "east" not in shown.waits_for


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
    assert await call_costs.past_work(connection, new_run().kind, ["few_shot"], {}) == ([], 1.0, {})
    await connection.execute(WORK, run_id)

    run_ids, at_once, medians = await call_costs.past_work(connection, new_run().kind, ["few_shot"], {})

    assert run_ids == [run_id]
    assert at_once == pytest.approx(2)
    median = Effort(seconds=10, calls_expected=1, prompt_tokens=7)
    assert medians == {("few_shot", "extract"): median, ("zero_shot", "extract"): median}


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

    for others, alike in ((call_costs.LOOKED_AT - 1, [run_id]), (1, [])):
        await connection.execute(OTHERS, run_id, others)
        found, *_ = await call_costs.past_work(connection, run.kind, ["few_shot"], {"MODEL_QUANTITATIVE_MODEL": "m"})
        assert found == alike


@pytest.mark.parametrize(("large", "done"), [(4, 4), (5, 5)])
async def test_what_is_left_is_estimated_by_the_pace_of_jobs_and_of_a_large_run_jobs_are_counted(
    large: int, done: int, connection: Connection, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await store_run("1", "2", "3", "4", "5", stages=("extract", "score"))
    monkeypatch.setattr(overviews, "_LARGE_JOBS", large)
    monkeypatch.setattr(overviews, "_FIRST_JOBS", 2)
    before = await overviews.progress(connection, stored.run_id)
    for job_id, ended in zip(stored.job_ids, (40, 20), strict=False):
        for stage in ("extract", "score"):
            await take(connection, job_id, stage, committing({}))
        await connection.execute(f"UPDATE job SET finished_at = now() - interval '{ended} s' WHERE id = $1", job_id)
    await take(connection, stored.job_ids[2], "extract", committing({"quotes": {}}))
    after = await overviews.progress(connection, stored.run_id)

    assert before == (0, 10, None)
    # Two jobs in 40 seconds, and three to go.
    assert after[:2] == (done, 10)
    assert after[2] == pytest.approx(60, abs=2)
