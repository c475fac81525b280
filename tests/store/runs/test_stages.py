"""The SQL statements behind fault tolerance."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from schemas.statuses import JobStatus, StageStatus
from store.database import Connection, Database
from store.runs import attempts, backlog, jobs, overviews, stages
from store.runs.backlog import Flow
from store.runs.jobs import PendingStage
from store.runs.runs import StoredRun
from store.runs.stages import Claim
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, claimed


async def job_states(connection: Connection, run: StoredRun) -> dict[JobStatus, int]:
    return (await overviews.get(connection, run.run_id)).states


async def looked(connection: Connection, claim: Claim) -> tuple[StageStatus, bool]:
    """The status of a stage, and whether its lease is over."""
    found = await stages.look(connection, claim.job_id, claim.stage)
    assert found is not None
    return found.status, found.is_expired


async def in_backlog(connection: Connection, run: StoredRun) -> bool:
    """Whether the only job of a run is to be sent."""
    flow = Flow(run.run_id, False)
    return await backlog.oldest(connection, {}, {flow: 100}) == {flow: run.job_ids}


async def test_of_many_copies_of_a_message_one_claims(database: Database, job_id: int) -> None:
    workers = [f"worker {number}" for number in range(8)]
    found = await asyncio.gather(*(database.once(stages.claim, job_id, "extract", name, 60) for name in workers))

    assert [claim.fence for claim in found if claim is not None] == [1]


@pytest.mark.parametrize("ends", ["commit", "fail"])
async def test_waiting_in_a_queue_is_no_work_of_an_attempt(connection: Connection, job_id: int, ends: str) -> None:
    claim = await claimed(connection, job_id)
    for table in ("stage_run", "stage_attempt"):
        begun = f"UPDATE {table} SET started_at = now() - interval '60 s' WHERE job_id = $1 AND stage = 'extract'"
        await connection.execute(begun, claim.job_id)

    if ends == "commit":
        await stages.commit(connection, claim, inputs={}, output={}, waited_s=50)
    else:
        await stages.fail(connection, claim, BROKEN, inputs={}, waited_s=50)

    took = "extract(epoch FROM {} - started_at) FROM {} WHERE job_id = $1 AND stage = 'extract'"
    for ended, table in (("ended_at", "stage_attempt"), ("finished_at", "stage_run")):
        assert 10 <= await connection.fetchval(f"SELECT {took.format(ended, table)}", claim.job_id) < 15


async def test_a_commit_is_whole_and_counts_once_however_often_it_is_sent(connection: Connection, job_id: int) -> None:
    async def effect(connection: Connection) -> None:
        raise RuntimeError("no")

    claim = await claimed(connection, job_id, lease_s=0)
    with pytest.raises(RuntimeError):
        await stages.commit(connection, claim, inputs={}, output={"a": 0}, effect=effect)
    assert await attempts.output(connection, job_id, "extract") is None

    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(2):  # The answer to the first one was lost.
        committed = await stages.commit(connection, claim, inputs={}, output={"a": 1}, vectors=vectors)
        assert committed
    assert not await stages.give_back(connection, claim)
    assert await looked(connection, claim) == (StageStatus.DONE, False)

    assert len(await attempts.history(connection, job_id)) == 1
    output = await attempts.output(connection, job_id, "extract")
    assert output is not None and output.value == {"a": 1}
    assert (await attempts.vectors(connection, output.attempt_id)).tolist() == [[0, 1, 2], [3, 4, 5]]
    (chain,) = await jobs.pending_chains(connection, [job_id])
    assert chain.stages[0] == PendingStage("embed", 1, "embed")


@pytest.mark.parametrize("ends", [JobStatus.SUCCEEDED, JobStatus.CANCELLED])
async def test_the_last_stage_ends_its_job_and_one_that_is_cancelled_meanwhile_stays_so(
    connection: Connection, store_run: StoreRun, ends: JobStatus
) -> None:
    (job_id,) = (await store_run(stages=("assemble",))).job_ids
    claim = await claimed(connection, job_id, "assemble")
    if ends is JobStatus.CANCELLED:
        await jobs.hold(connection, ends, None, job_id=job_id)

    assert await stages.commit(connection, claim, inputs={}, output={})
    job = await jobs.get(connection, job_id)
    assert (job.status, job.finished_at is None) == (ends, False)


async def test_a_fenced_off_worker_commits_nothing(connection: Connection, job_id: int) -> None:
    stale = await claimed(connection, job_id, lease_s=0)
    await stages.expire(connection, max_interruptions=3)

    assert not await stages.commit(connection, stale, inputs={}, output={"who": "stale"})
    fresh = await claimed(connection, job_id)
    assert not await stages.commit(connection, stale, inputs={}, output={"who": "stale"})
    assert not await stages.fail(connection, stale, BROKEN, inputs={})
    assert await stages.commit(connection, fresh, inputs={}, output={"who": "fresh"})

    history = await attempts.history(connection, job_id, "extract")
    found = [(attempt.outcome, attempt.output) for attempt in history]
    assert found == [("interrupted", None), ("succeeded", {"who": "fresh"})]


@pytest.mark.parametrize(("fence", "token"), [(1, 0), (0, 1)], ids=["fence", "token"])
async def test_fence_and_token_are_each_compared(connection: Connection, job_id: int, fence: int, token: int) -> None:
    held = await claimed(connection, job_id, lease_s=0)
    stale = replace(held, fence=held.fence - fence, token=held.token - token)

    await stages.renew(connection, "worker", [stale], 60)
    assert not await stages.commit(connection, stale, inputs={}, output={"who": "stale"})
    assert not await stages.fail(connection, stale, BROKEN, inputs={})
    assert not await stages.give_back(connection, stale)
    assert await looked(connection, held) == (StageStatus.RUNNING, True)

    assert await stages.commit(connection, held, inputs={}, output={"who": "held"})
    assert not await stages.commit(connection, stale, inputs={}, output={"who": "stale"})


async def test_a_retry_starts_at_the_stage_that_failed(connection: Connection, one_run: StoredRun, job_id: int) -> None:
    await stages.commit(connection, await claimed(connection, job_id), inputs={}, output={"kept": True})
    await stages.fail(connection, await claimed(connection, job_id, "embed"), BROKEN, inputs={})
    assert await job_states(connection, one_run) == {JobStatus.FAILED: 1}

    assert await jobs.retry(connection, run_id=one_run.run_id) == [job_id]

    (chain,) = await jobs.pending_chains(connection, [job_id])
    assert chain.stages == [PendingStage("embed", 2, "embed"), PendingStage("assemble", 1, "assemble")]
    history = await attempts.history(connection, job_id)
    found = [(attempt.stage, attempt.outcome, attempt.error and attempt.error.message) for attempt in history]
    assert found == [("extract", "succeeded", None), ("embed", "failed", "it broke")]


async def test_automatic_retries_wait_in_the_database(connection: Connection, one_run: StoredRun, job_id: int) -> None:
    await stages.fail(connection, await claimed(connection, job_id), BROKEN, inputs={}, retry_in_s=60)

    assert await stages.claim(connection, job_id, "extract", "worker", 60) is None
    (chain,) = await jobs.pending_chains(connection, [job_id])
    assert (await in_backlog(connection, one_run), chain.not_before is not None) == (True, True)
    await connection.execute("UPDATE stage_run SET not_before = now() WHERE not_before IS NOT NULL")
    (chain,) = await jobs.pending_chains(connection, [job_id])
    assert chain.not_before is None
    assert (await claimed(connection, job_id)).retries == 1


async def test_a_stage_that_kills_workers_is_poisoned(connection: Connection, one_run: StoredRun, job_id: int) -> None:
    seen: list[JobStatus] = []
    for _ in range(3):
        await claimed(connection, job_id, lease_s=0)
        await stages.expire(connection, max_interruptions=3)
        seen += (await job_states(connection, one_run)).keys()

    assert seen == [JobStatus.INTERRUPTED, JobStatus.INTERRUPTED, JobStatus.POISONED]
    assert await stages.claim(connection, job_id, "extract", "worker", 60) is None
    assert await jobs.retry(connection, job_id=job_id) == [job_id]
    assert (await claimed(connection, job_id, lease_s=0)).attempt == 4
    # The retry counts anew.
    await stages.expire(connection, max_interruptions=3)
    assert await job_states(connection, one_run) == {JobStatus.INTERRUPTED: 1}
    # A worker may leave stages that were interrupted to others.
    assert await stages.claim(connection, job_id, "extract", "worker", 60, interrupted_below=1) is None
    assert await stages.claim(connection, job_id, "extract", "worker", 60, interrupted_below=2) is not None


async def test_a_stage_given_back_is_never_poisoned(connection: Connection, one_run: StoredRun, job_id: int) -> None:
    for _ in range(5):
        assert await stages.give_back(connection, await claimed(connection, job_id))

    found = await stages.look(connection, job_id, "extract")
    assert found is not None
    assert (found.status, found.interruptions) == (StageStatus.READY, 0)
    assert await in_backlog(connection, one_run)
    history = await attempts.history(connection, job_id)
    ends = {(one.outcome, one.error and one.error.type) for one in history}
    assert ends == {("interrupted", "WorkerStopped")}
    assert await job_states(connection, one_run) == {JobStatus.INTERRUPTED: 1}


async def test_a_lease_is_renewed_although_another_is_being_committed(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    async with database.connection() as connection, database.connection() as heart:
        claims = [await claimed(connection, job_id, lease_s=0) for job_id in stored.job_ids]
        async with connection.transaction():
            await stages.commit(connection, claims[0], inputs={}, output={})

            await asyncio.wait_for(stages.renew(heart, "worker", claims, 60), timeout=60)

            assert await stages.expire(heart, max_interruptions=3) == []


async def test_a_done_stage_forwards_only_where_a_message_may_be_missing(connection: Connection, job_id: int) -> None:
    await stages.commit(connection, await claimed(connection, job_id), inputs={}, output={})

    assert await stages.forward(connection, job_id, "extract", redelivered=False, grace_s=60) is None
    assert await stages.forward(connection, job_id, "extract", redelivered=True, grace_s=60) == "embed"
    await asyncio.sleep(0.02)
    assert await stages.forward(connection, job_id, "extract", redelivered=False, grace_s=0.01) == "embed"
    await claimed(connection, job_id, "embed")
    assert await stages.forward(connection, job_id, "extract", redelivered=True, grace_s=0) is None


async def test_a_job_that_somebody_waits_for_is_sent_again_at_once(connection: Connection, one_run: StoredRun) -> None:
    await backlog.mark_sent(connection, dict.fromkeys(one_run.job_ids))
    assert await backlog.flows(connection) == {}
    await backlog.hasten(connection, one_run.job_ids)
    assert list(await backlog.flows(connection)) == [Flow(one_run.run_id, True)]


@pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.CANCELLED])
async def test_a_paused_job_is_not_claimed_and_not_sent(
    connection: Connection, one_run: StoredRun, job_id: int, status: JobStatus
) -> None:
    await jobs.hold(connection, status, "why", run_id=one_run.run_id)

    assert await stages.claim(connection, job_id, "extract", "worker", 60) is None
    assert not await in_backlog(connection, one_run)
    assert await job_states(connection, one_run) == {status: 1}
    cancelled = await jobs.hold(connection, JobStatus.CANCELLED, "why", run_id=one_run.run_id)
    assert cancelled == ([job_id] if status is JobStatus.PAUSED else [])


async def test_a_paused_job_stays_so_while_its_stage_may_run_again(connection: Connection, store_run: StoreRun) -> None:
    failing, killing, ending = [await store_run() for _ in range(3)]
    failed, _, ended = [
        await claimed(connection, run.job_ids[0], lease_s=lease_s)
        for run, lease_s in ((failing, 60), (killing, 0), (ending, 60))
    ]
    for run in (failing, killing, ending):
        await jobs.hold(connection, JobStatus.PAUSED, None, run_id=run.run_id)

    await stages.fail(connection, failed, BROKEN, inputs={}, retry_in_s=60)
    await stages.expire(connection, max_interruptions=1)
    # What a worker computes meanwhile is stored.
    assert await stages.commit(connection, ended, inputs={}, output={})

    states = [await job_states(connection, run) for run in (failing, killing, ending)]
    assert states == [{JobStatus.PAUSED: 1}, {JobStatus.POISONED: 1}, {JobStatus.PAUSED: 1}]
    assert await jobs.resume(connection, run_id=ending.run_id) == ending.job_ids
    assert (await claimed(connection, ended.job_id, "embed")).fence == 1
