"""The pending chains of jobs."""

from store.database import Connection
from store.runs.jobs import PendingChain, PendingStage, pending_chains
from tests.store.conftest import StoreRun


async def test_chains_are_in_the_order_asked_and_each_job_is_there_once(
    connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "319", stages=("extract", "embed"))
    first, second = stored.job_ids

    found = await pending_chains(connection, [second, first, second])

    stages = [PendingStage("extract", 1, "extract"), PendingStage("embed", 1, "embed")]
    assert found == [
        PendingChain(job_id=second, run_id=stored.run_id, kind="participant", subject="319", stages=stages),
        PendingChain(job_id=first, run_id=stored.run_id, kind="participant", subject="316", stages=stages),
    ]
