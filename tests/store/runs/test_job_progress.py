"""The progress of jobs."""

from schemas.statuses import StageStatus
from store.database import Connection
from store.runs import jobs
from tests.store.conftest import StoreRun
from tests.store.scored import committing, take


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
