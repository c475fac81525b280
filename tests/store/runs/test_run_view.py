"""Runs for display: lists with limits, and failed jobs first."""

from collections.abc import Awaitable, Callable

from schemas.statuses import JobStatus
from store.database import Database
from store.runs import jobs, overviews
from store.runs.run_view import job_view, run_view
from store.runs.runs import StoredRun
from tests.store.scored import TIMED_OUT, committing, failing, take

StoreRun = Callable[..., Awaitable[StoredRun]]


async def test_failed_jobs_are_listed_first_and_then_running_ones(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", "4", stages=("extract",))
    one, two, three, four = stored.job_ids
    async with database.connection() as connection:
        await take(connection, one, "extract", committing({"quotes": {}}))
        await take(connection, three, "extract", failing(TIMED_OUT))
        await take(connection, four, "extract", _nothing)
        found = await jobs.most_urgent(connection, stored.run_id, limit=10)
        second = await jobs.most_urgent(connection, stored.run_id, limit=2, offset=1)
        waiting = await jobs.most_urgent(connection, stored.run_id, status=JobStatus.WAITING, limit=10)
    assert found == [three, four, two, one]
    assert second == [four, two]
    assert waiting == [two]


async def test_a_view_of_some_jobs_counts_all_and_shows_those(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", stages=("extract",))
    async with database.connection() as connection:
        await take(connection, stored.job_ids[1], "extract", failing(TIMED_OUT))
        view = await run_view(connection, stored.run_id, job_ids=stored.job_ids[1:])
    assert view is not None
    assert view.overview.states == {JobStatus.WAITING: 2, JobStatus.FAILED: 1}
    assert [(job.subject, job.error and job.error.category) for job in view.jobs] == [
        ("2", "scoring_llm_timeout"),
        ("3", None),
    ]


async def test_runs_are_listed_by_kind_and_below_a_number(database: Database, store_run: StoreRun) -> None:
    first, second, third = [(await store_run("1")).run_id for _ in range(3)]
    async with database.connection() as connection:
        older = await overviews.overviews(connection, before=third)
        of_queries = await overviews.overviews(connection, kind="query")
    assert [run.id for run in older] == [second, first]
    assert of_queries == []


async def test_a_run_without_jobs_has_no_states(database: Database) -> None:
    async with database.connection() as connection:
        run_id = await connection.fetchval(
            "INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)"
            " VALUES ('index', 'i', 'demo', '{}', 's', '{}', '0') RETURNING id"
        )
        found = await overviews.overview(connection, run_id)
    assert found is not None
    assert (found.jobs, found.states, found.finished_at) == (0, {}, None)


async def _nothing(*_: object) -> None:
    """Leaves a stage running."""


async def test_jobs_are_paged_in_the_order_of_submission(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", stages=("extract",))
    one, two, three = stored.job_ids
    async with database.connection() as connection:
        await take(connection, two, "extract", failing(TIMED_OUT))
        assert await jobs.in_order(connection, stored.run_id, limit=2) == [one, two]
        assert await jobs.in_order(connection, stored.run_id, after=two, limit=2) == [three]
        assert await jobs.in_order(connection, stored.run_id, status=JobStatus.WAITING, limit=9) == [one, three]


async def test_one_job_is_shown_like_those_of_a_run(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract",))
    async with database.connection() as connection:
        view = await run_view(connection, stored.run_id)
        assert view is not None
        assert await job_view(connection, stored.job_ids[1]) == view.jobs[1]
        assert await job_view(connection, 999) is None


async def test_the_texts_that_were_cut_are_counted_over_the_jobs(database: Database, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract", "embed"))
    async with database.connection() as connection:
        for job_id in stored.job_ids:
            await take(connection, job_id, "extract", committing({"cut_texts": 1}))
        await take(connection, stored.job_ids[0], "embed", committing({"cut_texts": 2}))
        view = await run_view(connection, stored.run_id)
    assert view is not None
    assert view.cut_texts == 4
