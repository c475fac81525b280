"""Retry, pause, resume and cancel, for runs and jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from schemas.statuses import JobStatus
from schemas.values.runs import Target
from services.runs import Action, ControlResult, control
from store.database import Connection, Database
from store.runs import backlog, jobs, overviews
from store.runs.backlog import Flow
from tests.refusals import refused
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, failing, take


async def test_held_jobs_keep_the_note_and_what_changes_nothing_is_refused(
    database: Database, store_run: StoreRun
) -> None:
    for action, status in [(Action.PAUSE, JobStatus.PAUSED), (Action.CANCEL, JobStatus.CANCELLED)]:
        stored = await store_run()
        target = Target(stored.run_id, None)

        for useless in (Action.RETRY, Action.RESUME):
            with refused("no-job-in-state", match=rf"No job of r{stored.run_id} can be {useless.verb}"):
                await control(database, target, useless)
        assert await control(database, target, action, note="not now") == ControlResult(job_ids=stored.job_ids)

        job = await database.once(jobs.get, stored.job_ids[0])
        assert (job.status, job.note) == (status, "not now")


@pytest.mark.parametrize("action", [Action.RETRY, Action.RESUME])
async def test_many_jobs_change_in_batches(
    database: Database, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch, action: Action
) -> None:
    monkeypatch.setattr(jobs, "BATCH", 2)
    stored = await store_run(*map(str, range(300, 305)))
    target = Target(stored.run_id, None)
    if action is Action.RETRY:
        for job_id in stored.job_ids:
            await database.once(take, job_id, "extract", failing(BROKEN))
    else:
        await control(database, target, Action.PAUSE)

    assert (await control(database, target, action)).job_ids == stored.job_ids

    assert (await database.once(overviews.get, stored.run_id)).states == {JobStatus.WAITING: 5}
    flow = Flow(stored.run_id, False)
    assert await database.once(backlog.oldest, {}, {flow: 9}) == {flow: stored.job_ids}


async def test_a_job_that_ended_meanwhile_is_left_as_it_is(
    connection: Connection, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await store_run("316", "317")
    found = jobs.bulk

    @asynccontextmanager
    async def begun_after_one_ended(connection: Connection, run_id: int) -> AsyncIterator[None]:
        await connection.execute("UPDATE job SET status = 'succeeded' WHERE id = $1", stored.job_ids[0])
        async with found(connection, run_id):
            yield

    monkeypatch.setattr(jobs, "bulk", begun_after_one_ended)
    held = await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=stored.run_id)

    assert held == [stored.job_ids[1]]
    states = (await overviews.get(connection, stored.run_id)).states
    assert states == {JobStatus.SUCCEEDED: 1, JobStatus.CANCELLED: 1}
