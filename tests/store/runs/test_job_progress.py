"""The progress of jobs."""

from schemas.statuses import StageStatus
from store.database import Connection
from store.runs import jobs
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, committing, failing, take


async def test_every_job_lists_its_stages_in_the_order_of_the_chain(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "302")
    first, second = stored.job_ids
    await take(connection, first, "extract", committing({}))

    found = await jobs.progress(connection, stored.job_ids)

    assert [(view.stage, view.status) for view in found[first].stages] == [
        ("extract", StageStatus.DONE),
        ("embed", StageStatus.READY),
        ("assemble", StageStatus.WAITING),
    ]
    assert (found[first].done, found[first].current) == (1, "embed")
    assert (found[second].done, found[second].current) == (0, "extract")
    assert found[first].is_done("extract") and not found[first].is_done("embed") and not found[first].is_done("score")


async def test_a_failed_job_shows_its_last_error_and_others_show_none(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "302")
    await take(connection, stored.job_ids[0], "extract", failing(BROKEN))

    found = await jobs.progress(connection, stored.job_ids)

    error = found[stored.job_ids[0]].error
    assert error is not None
    assert (error.stage, error.attempt, error.type, error.message) == ("extract", 1, BROKEN.type, BROKEN.message)
    assert found[stored.job_ids[1]].error is None
