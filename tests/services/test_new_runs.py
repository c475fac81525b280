"""Runs are stored with what belongs to them."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from schemas.errors import MissingError, Refused, StackError
from schemas.values.requests import RunTerms
from services.new_runs import Submitted, submit_run
from stages.reports.words import DEMO_NOTICES
from store.access import RequestKey
from store.database import Connection, Database, StatementTimeoutError
from store.runs import jobs, overviews
from tests.store.conftest import new_run
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
