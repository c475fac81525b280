"""Runs are stored with what belongs to them, retried, paused, resumed and cancelled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from schemas.errors import MissingError, Refused, StackError
from schemas.statuses import JobStatus
from schemas.values.requests import RunTerms
from schemas.values.runs import Target
from services.new_runs import Submitted, submit_run
from services.runs import Action, ControlResult, control
from stages.reports.words import DEMO_NOTICES
from store.access import RequestKey
from store.database import Connection, Database, StatementTimeoutError
from store.runs import backlog, jobs, overviews
from store.runs.backlog import Flow
from tests.refusals import refused
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import BROKEN, failing, take
from tests.tcp_proxy import CommitProxy

RUN = new_run(("1", "2"), request={})

NOTICES = (DEMO_NOTICES["participant"],)


async def test_a_run_is_stored_with_what_belongs_to_it_or_not(database: Database, connection: Connection) -> None:
    stored_for: list[int] = []

    async def effect(_connection: Connection, run_id: int) -> None:
        stored_for.append(run_id)

    async def fail(_connection: Connection, _run_id: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await submit_run(database, replace(RUN, effect=fail))
    assert await overviews.ids(connection) == []

    submitted = await submit_run(database, replace(RUN, effect=effect))

    assert submitted == Submitted(run_id=submitted.run_id, is_new=True, jobs=2, resumed=0, notices=NOTICES)
    assert stored_for == [submitted.run_id]


async def test_a_new_run_waits_for_another_and_a_stored_one_cannot(database: Database, connection: Connection) -> None:
    first = await submit_run(database, RUN)
    after_first = replace(RUN, terms=RunTerms(after_run_id=first.run_id))

    waiting = await submit_run(database, after_first, always_new=True)
    with pytest.raises(Refused, match="waits for no other run"):
        await submit_run(database, after_first)
    with pytest.raises(MissingError):
        await submit_run(database, replace(RUN, terms=RunTerms(after_run_id=999)), always_new=True)

    assert (await overviews.get(connection, waiting.run_id)).states == {"paused": 2}
    assert await connection.fetchval("SELECT count(*) FROM run") == 2


async def test_the_same_work_again_retries_the_jobs_that_failed(database: Database, connection: Connection) -> None:
    first = await submit_run(database, RUN)
    (job_id, _) = await jobs.in_order(connection, first.run_id, limit=2)
    await take(connection, job_id, "extract", failing(BROKEN))

    again = await submit_run(database, RUN)
    other = await submit_run(database, RUN, always_new=True)

    assert again == Submitted(run_id=first.run_id, is_new=False, jobs=2, resumed=1, notices=NOTICES)
    assert (other.run_id != first.run_id, other.is_new) == (True, True)
    # A key has no ids of jobs.
    key = RequestKey(principal="open", key="a key", request_hash="h")
    keyed, replay = [await submit_run(database, RUN, always_new=True, key=key) for _ in range(2)]
    made = await connection.fetchval("SELECT made FROM idempotency_key")
    assert made == {"run": keyed.run_id, "is_new": True, "jobs": 2, "resumed": 0}
    assert (replay.run_id, replay.jobs, replay.resumed, replay.is_replay) == (keyed.run_id, 2, 0, True)


@pytest.mark.parametrize("answers", [True, False], ids=["database gone then", "commit not answered"])
async def test_a_run_that_is_stored_is_returned_although_the_connection_ends(
    connection: Connection, database_url: str, answers: bool
) -> None:
    with CommitProxy(database_url, answers=answers) as proxy:
        async with Database(proxy.url, pool_size=1) as behind:
            submitted = await submit_run(behind, RUN)

    assert submitted.jobs == 2
    assert await overviews.ids(connection) == [submitted.run_id]


async def slow_commits(connection: Connection, *, then: str) -> None:
    """Has the transaction that stores a run sleep while it commits, longer than an impatient client waits."""
    await connection.execute(
        "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_sleep(2); {then} RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION nap()"
    )


@pytest.fixture
async def impatient(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    monkeypatch.setattr("store.database._STATEMENT_SECONDS", 1.0)
    async with Database(database_url, pool_size=1) as made:
        yield made


async def test_a_run_that_commits_slowly_is_returned_once_stored(connection: Connection, impatient: Database) -> None:
    await slow_commits(connection, then="")

    submitted = await submit_run(impatient, RUN)

    assert submitted.jobs == 2
    assert await overviews.ids(connection) == [submitted.run_id]


async def test_a_commit_that_takes_too_long_and_fails_is_an_error(connection: Connection, impatient: Database) -> None:
    await slow_commits(connection, then="RAISE EXCEPTION 'no';")

    with pytest.raises(StatementTimeoutError):
        await submit_run(impatient, RUN)

    assert await overviews.ids(connection) == []


async def test_where_the_database_does_not_answer_whether_the_run_is_stored_nobody_knows(
    connection: Connection, impatient: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await slow_commits(connection, then="PERFORM pg_sleep(1);")
    monkeypatch.setattr("store.runs.answer_pieces._ASK_FOR_SECONDS", 0.2)

    with pytest.raises(StackError, match="`ragq runs`"):
        await submit_run(impatient, RUN)


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
