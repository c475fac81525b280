"""The state of a run in numbers."""

from schemas.statuses import JobStatus
from store.database import Connection
from store.views import run_state
from tests.store.conftest import StoreRun
from tests.store.scored import TIMED_OUT, committing, failing, take


async def test_a_run_counts_stages_and_reports_when_it_is_idle(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", stages=("extract", "embed"))
    first, second = stored.job_ids
    await take(connection, first, "extract", committing({"quotes": {}}))
    await take(connection, second, "extract", failing(TIMED_OUT))
    going_on = await run_state(connection, stored.run_id)
    await take(connection, first, "embed", committing({}))
    resting = await run_state(connection, stored.run_id)

    assert (going_on.stages_done, going_on.stages, going_on.is_idle) == (1, 4, False)
    assert going_on.seconds_left is None, "no stage `embed` has finished, from which its time could be known"
    assert resting.states == {JobStatus.SUCCEEDED: 1, JobStatus.FAILED: 1}
    assert (resting.stages_done, resting.seconds_left, resting.is_idle) == (2, None, True)
