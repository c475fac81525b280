"""Runs for display: lists with limits, and failed jobs first."""

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import jobs
from store.runs.run_view import run_view
from tests.store.conftest import StoreRun
from tests.store.scored import TIMED_OUT, committing, failing, take


async def test_failed_jobs_are_listed_first_and_then_running_ones(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", "4", stages=("extract",))
    one, two, three, four = stored.job_ids
    await take(connection, one, "extract", committing({"quotes": {}}))
    await take(connection, three, "extract", failing(TIMED_OUT))
    await take(connection, four, "extract", _nothing)
    found = await jobs.most_urgent(connection, stored.run_id, limit=10)
    second = await jobs.most_urgent(connection, stored.run_id, limit=2, offset=1)
    waiting = await jobs.most_urgent(connection, stored.run_id, status=JobStatus.WAITING, limit=10)
    assert found == [three, four, two, one]
    assert second == [four, two]
    assert waiting == [two]


async def test_a_view_of_some_jobs_counts_all_and_shows_those(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", stages=("extract",))
    await take(connection, stored.job_ids[1], "extract", failing(TIMED_OUT))
    view = await run_view(connection, stored.run_id, job_ids=stored.job_ids[1:])
    assert view.overview.states == {JobStatus.WAITING: 2, JobStatus.FAILED: 1}
    assert [(job.subject, job.error and job.error.category) for job in view.jobs] == [
        ("2", "scoring_llm_timeout"),
        ("3", None),
    ]


async def _nothing(*_: object) -> None:
    """Leaves a stage running."""


async def test_the_texts_that_were_cut_are_counted_over_the_jobs(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract", "embed"))
    for job_id in stored.job_ids:
        await take(connection, job_id, "extract", committing({"cut_texts": 1}))
    await take(connection, stored.job_ids[0], "embed", committing({"cut_texts": 2}))
    view = await run_view(connection, stored.run_id)
    assert view.cut_texts == 4
