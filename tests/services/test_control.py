"""Retry, pause, resume and cancel, for runs and jobs."""

from collections.abc import Awaitable, Callable

import pytest

from schemas.errors import JobMissingError, NoJobInStateError, RunMissingError
from schemas.statuses import JobStatus
from schemas.values.failures import AttemptError
from services.control import Action, ControlResult, control
from stack.valkey import ValkeyServer
from store.database import Connection, Database
from store.runs import jobs, overviews, stages
from store.runs.job_control import Target
from store.runs.runs import StoredRun
from tests.services.questions.questions import a_question
from workers.app import make_app

StoreRun = Callable[..., Awaitable[StoredRun]]


async def break_down(connection: Connection, job_id: int) -> None:
    claim = await stages.claim(connection, job_id, "extract", "worker", 60)
    assert claim is not None
    await stages.fail(connection, claim, AttemptError("a.B", "broke", "unknown", {}), inputs={})


async def states(connection: Connection, run_id: int) -> dict[JobStatus, int]:
    overview = await overviews.overview(connection, run_id)
    assert overview is not None
    return overview.states


async def test_failed_jobs_of_a_run_continue_and_are_sent(
    database: Database, store_run: StoreRun, valkey: ValkeyServer
) -> None:
    stored = await store_run("316", "317")
    async with database.connection() as connection:
        await break_down(connection, stored.job_ids[1])

        decided = await control(make_app(valkey.url), database, Target(stored.run_id, None), Action.RETRY)

        assert decided == ControlResult([stored.job_ids[1]], True)
        assert await states(connection, stored.run_id) == {JobStatus.WAITING: 2}


async def test_an_unavailable_broker_is_reported_and_the_jobs_continue_later(
    database: Database, store_run: StoreRun
) -> None:
    stored = await store_run()
    away = make_app("redis://127.0.0.1:1/0")
    async with database.connection() as connection:
        await break_down(connection, stored.job_ids[0])

        decided = await control(away, database, Target(None, stored.job_ids[0]), Action.RETRY)

        assert decided == ControlResult(stored.job_ids, False)
        assert await states(connection, stored.run_id) == {JobStatus.WAITING: 1}


@pytest.mark.parametrize(("action", "status"), [(Action.PAUSE, JobStatus.PAUSED), (Action.CANCEL, JobStatus.CANCELLED)])
async def test_held_jobs_keep_the_note(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, action: Action, status: JobStatus
) -> None:
    stored = await store_run()
    async with database.connection() as connection:
        target = Target(stored.run_id, None)

        assert await control(make_app(valkey.url), database, target, action, note="not now") == ControlResult(
            stored.job_ids, True
        )

        job = await jobs.job(connection, stored.job_ids[0])
        assert job is not None
        assert (job.status, job.note) == (status, "not now")


async def test_a_paused_job_resumes(database: Database, store_run: StoreRun, valkey: ValkeyServer) -> None:
    stored = await store_run()
    app = make_app(valkey.url)
    await control(app, database, Target(stored.run_id, None), Action.PAUSE)

    decided = await control(app, database, Target(None, stored.job_ids[0]), Action.RESUME)

    assert decided == ControlResult(stored.job_ids, True)


@pytest.mark.parametrize("action", [Action.RETRY, Action.RESUME])
async def test_a_decision_that_changes_nothing_is_refused(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, action: Action
) -> None:
    stored = await store_run()
    with pytest.raises(NoJobInStateError, match=rf"No job of r{stored.run_id} can be {action.verb}"):
        await control(make_app(valkey.url), database, Target(stored.run_id, None), action)


async def test_a_missing_run_or_job_is_named(database: Database, valkey: ValkeyServer) -> None:
    with pytest.raises(RunMissingError):
        await control(make_app(valkey.url), database, Target(9, None), Action.CANCEL)
    with pytest.raises(JobMissingError):
        await control(make_app(valkey.url), database, Target(None, 9), Action.CANCEL)


async def test_a_retry_of_a_question_that_failed_by_its_values_names_the_way_to_change_them(
    database: Database, valkey: ValkeyServer
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, "expand", "embed", "retrieve")
        claim = await stages.claim(connection, query.job_id, "rerank", "worker", 60)
        assert claim is not None
        error = AttemptError("schemas.errors.NothingRelevantError", "All too short.", "nothing_relevant", {})
        await stages.fail(connection, claim, error, inputs={})

    decided = await control(make_app(valkey.url), database, Target(query.run_id, None), Action.RETRY)

    assert decided.job_ids == [query.job_id]
    assert f"`ragq query run {query.id} --set NAME=VALUE`" in decided.advice[0]
