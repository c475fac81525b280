"""Runs and jobs for display: failed jobs first, the progress of each, and what is left to do."""

from schemas.statuses import JobStatus, StageStatus
from store.database import Connection
from store.runs import jobs
from store.runs.jobs import PendingChain, PendingStage
from store.runs.run_view import run_view
from tests.store.conftest import StoreRun
from tests.store.scored import TIMED_OUT, claimed, committing, failing, take


async def test_failed_jobs_come_first_and_a_view_of_some_jobs_counts_all(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("1", "2", "3", "4", stages=("extract",))
    one, two, three, four = stored.job_ids
    await take(connection, one, "extract", committing({"quotes": {}}))
    await take(connection, three, "extract", failing(TIMED_OUT))
    await claimed(connection, four)

    view = await run_view(connection, stored.run_id, job_ids=[two, three])

    assert await jobs.most_urgent(connection, stored.run_id, limit=10) == [three, four, two, one]
    assert await jobs.most_urgent(connection, stored.run_id, limit=2, offset=1) == [four, two]
    assert await jobs.most_urgent(connection, stored.run_id, status=JobStatus.WAITING, limit=10) == [two]
    assert view.overview.states == dict.fromkeys(("waiting", "running", "failed", "succeeded"), 1)
    errors = [(job.subject, job.error and job.error.category) for job in view.jobs]
    assert errors == [("2", None), ("3", "scoring_llm_timeout")]


async def test_the_texts_that_were_cut_are_counted_over_the_jobs(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract", "embed"))
    for job_id in stored.job_ids:
        await take(connection, job_id, "extract", committing({"cut_texts": 1}))
    await take(connection, stored.job_ids[0], "embed", committing({"cut_texts": 2}))

    assert (await run_view(connection, stored.run_id)).cut_texts == 4


async def test_every_job_lists_its_stages_in_the_order_of_the_chain_and_those_that_are_left(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "302")
    first, second = stored.job_ids
    await take(connection, first, "extract", committing({}))

    found = await jobs.progress(connection, stored.job_ids)
    left = await jobs.pending_chains(connection, [second, first, second])

    assert [(view.stage, view.status) for view in found[first].stages] == [
        ("extract", StageStatus.DONE),
        ("embed", StageStatus.READY),
        ("assemble", StageStatus.WAITING),
    ]
    assert (found[first].done, found[first].current) == (1, "embed")
    assert (found[second].done, found[second].current) == (0, "extract")
    assert found[first].is_done("extract") and not found[first].is_done("embed") and not found[first].is_done("score")
    stages = [PendingStage(stage, 1, stage) for stage in ("extract", "embed", "assemble")]
    assert left == [
        PendingChain(job_id=second, run_id=stored.run_id, kind="participant", subject="302", stages=stages),
        PendingChain(job_id=first, run_id=stored.run_id, kind="participant", subject="316", stages=stages[1:]),
    ]
