"""Runs are stored, and sent after the commit."""

import pytest

from schemas.values.failures import AttemptError
from services.new_runs import PlannedRun, Submitted, submit_run
from stack.ports import free_port
from stack.valkey import ValkeyServer
from stages.reports.run_words import DEMO_NOTICES
from store.database import Connection, Database
from store.runs import jobs, overviews, stages
from store.runs.runs import NewJob, NewRun
from workers.app import make_app

RUN = NewRun(
    kind="participant",
    profile="demo",
    settings={},
    settings_hash="s",
    request={},
    version="0",
    jobs=[
        NewJob(mode="zero_shot", subject=subject, inputs={}, stages=("extract", "assemble")) for subject in ("1", "2")
    ],
)

NOTICES = (DEMO_NOTICES["participant"],)


async def test_a_new_run_is_sent_with_what_belongs_to_it_stored(database: Database, valkey: ValkeyServer) -> None:
    stored_for: list[int] = []

    async def effect(_connection: Connection, run_id: int) -> None:
        stored_for.append(run_id)

    submitted = await submit_run(make_app(valkey.url), database, PlannedRun(RUN, effect))

    assert submitted == Submitted(submitted.run_id, True, 2, 0, 2, 2, NOTICES)
    assert stored_for == [submitted.run_id]


async def test_a_run_whose_effect_fails_is_neither_stored_nor_sent(database: Database, valkey: ValkeyServer) -> None:
    async def effect(_connection: Connection, _run_id: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await submit_run(make_app(valkey.url), database, PlannedRun(RUN, effect))

    async with database.connection() as connection:
        assert await overviews.overviews(connection) == []


async def test_a_run_is_stored_while_the_broker_is_unavailable(database: Database) -> None:
    submitted = await submit_run(make_app(f"redis://127.0.0.1:{free_port()}/0"), database, PlannedRun(RUN))

    assert submitted == Submitted(submitted.run_id, True, 2, 0, 2, 0, NOTICES)


async def test_the_same_work_again_retries_the_jobs_that_failed(database: Database, valkey: ValkeyServer) -> None:
    app = make_app(valkey.url)
    first = await submit_run(app, database, PlannedRun(RUN))
    async with database.connection() as connection:
        (job_id, _) = await jobs.in_order(connection, first.run_id, limit=2)
        claim = await stages.claim(connection, job_id, "extract", "worker", 60)
        assert claim is not None
        await stages.fail(connection, claim, AttemptError("a.B", "broke", "unknown", {}), inputs={})

    again = await submit_run(app, database, PlannedRun(RUN))
    other = await submit_run(app, database, PlannedRun(RUN), always_new=True)

    assert again == Submitted(first.run_id, False, 2, 1, 1, 1, NOTICES)
    assert (other.run_id != first.run_id, other.is_new) == (True, True)
