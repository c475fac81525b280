"""What a process holds, as its embedder sees it."""

import asyncio

from store.database import Database
from store.runs import stages
from workers.leases import Leases


async def test_a_kind_counts_between_two_stages_of_a_job(database: Database, database_url: str, job_id: int) -> None:
    held = await database.with_retry(lambda connection: stages.claim(connection, job_id, "extract", "worker", 60))
    assert held is not None
    leases = Leases(database_url, "worker", lease_s=60)
    try:
        assert leases.kinds(60) == set()
        leases.hold(held)
        assert leases.kinds(0) == {"participant"}
        leases.release(held)
        assert (leases.kinds(60), leases.kinds(0), leases.count) == ({"participant"}, set(), 0)
        async with asyncio.timeout(60):
            while leases.kinds(0.2):  # noqa: ASYNC110  (time passes without an event)
                await asyncio.sleep(0.05)
    finally:
        leases.stop()
