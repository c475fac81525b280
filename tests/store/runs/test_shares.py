"""Priorities of runs, and their shares of the workers."""

from schemas.statuses import JobStatus, Priority
from store.database import Connection
from store.runs import backlog, job_control, overviews
from store.runs.backlog import Share
from tests.store.conftest import StoreRun


async def test_runs_that_wait_share_the_workers_by_weight(connection: Connection, store_run: StoreRun) -> None:
    first, second, third = [(await store_run("316", "319")).run_id for _ in range(3)]
    assert await backlog.shares(connection) == {
        first: Share(position=1, runs=3, share=1 / 3),
        second: Share(position=2, runs=3, share=1 / 3),
        third: Share(position=3, runs=3, share=1 / 3),
    }

    await backlog.set_priority(connection, first, Priority.BULK)
    await backlog.set_priority(connection, third, Priority.INTERACTIVE)

    assert await backlog.shares(connection) == {
        third: Share(position=1, runs=3, share=16 / 21),
        second: Share(position=2, runs=3, share=4 / 21),
        first: Share(position=3, runs=3, share=1 / 21),
    }
    (shown, *_) = await overviews.overviews(connection)
    assert (shown.id, shown.turns) == (third, "interactive, 1 of 3, 76%")


async def test_a_run_has_a_share_while_a_job_of_it_is_to_be_sent(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    await backlog.mark_sent(connection, {stored.job_ids[0]: None})
    assert stored.run_id in await backlog.shares(connection)
    await backlog.mark_sent(connection, {stored.job_ids[1]: None})
    assert await backlog.shares(connection) == {}
    shown = await overviews.overview(connection, stored.run_id)
    assert shown is not None and shown.turns == "normal"

    await job_control.hold(connection, JobStatus.CANCELLED, None, run_id=stored.run_id)
    shown = await overviews.overview(connection, stored.run_id)
    assert shown is not None and shown.turns == ""
