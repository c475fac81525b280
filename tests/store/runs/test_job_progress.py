"""The progress of jobs."""

from collections.abc import Awaitable, Callable

from schemas.statuses import StageStatus
from schemas.values.failures import AttemptError
from store.database import Connection
from store.runs import jobs, stages
from store.runs.runs import StoredRun
from tests.store.scored import claimed


async def test_every_job_lists_its_stages_in_the_order_of_the_chain(
    connection: Connection, store_run: Callable[..., Awaitable[StoredRun]]
) -> None:
    stored = await store_run("316", "302")
    first, second = stored.job_ids
    claim = await claimed(connection, first, "extract")
    await stages.commit(connection, claim, inputs={}, output={})

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
    connection: Connection, store_run: Callable[..., Awaitable[StoredRun]]
) -> None:
    stored = await store_run("316", "302")
    claim = await claimed(connection, stored.job_ids[0], "extract")
    await stages.fail(connection, claim, AttemptError("a.Broken", "broke", "unknown", {}), inputs={})

    found = await jobs.progress(connection, stored.job_ids)

    error = found[stored.job_ids[0]].error
    assert error is not None
    assert (error.stage, error.attempt, error.type, error.message) == ("extract", 1, "a.Broken", "broke")
    assert found[stored.job_ids[1]].error is None
