"""The heartbeat: one statement a second renews every lease of this process.

It has its own thread, loop and connection, so that neither model work nor a full pool can stall it.
"""

import asyncio

import structlog

from store.database import DATABASE_ERRORS, Database
from store.runs import stages
from store.runs.stages import Claim
from workers.loop import LoopThread, essential

log = structlog.get_logger(__name__)


class Leases:
    """The stages this process holds, kept alive."""

    def __init__(self, database_url: str, worker_id: str, *, lease_s: float, heartbeat_s: float) -> None:
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._heartbeat_s = heartbeat_s
        self._held: dict[int, Claim] = {}
        self._thread = LoopThread("heartbeat")
        essential(self._thread.submit(self._beat(database_url)), "heartbeat")

    @property
    def count(self) -> int:
        """Stages held now."""
        return len(self._held)

    def hold(self, claim: Claim) -> None:
        """Renew the lease of a claim from now on."""
        self._held[claim.attempt_id] = claim

    def release(self, claim: Claim) -> None:
        """Renew it no more."""
        self._held.pop(claim.attempt_id, None)

    def stop(self) -> None:
        """End the heartbeat."""
        self._thread.stop()

    async def _beat(self, database_url: str) -> None:
        database = Database(database_url, pool_size=1, application_name="ragq heartbeat")
        try:
            while True:
                try:
                    # A third: a beat that gets no answer leaves time for another before the leases run out.
                    async with asyncio.timeout(self._lease_s / 3), database.connection() as connection:
                        await stages.renew(connection, self._worker_id, list(self._held.values()), self._lease_s)
                except DATABASE_ERRORS as error:
                    log.warning("heartbeat_missed", error_type=type(error).__name__)
                await asyncio.sleep(self._heartbeat_s)
        finally:
            await database.close()
