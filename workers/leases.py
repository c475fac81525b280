"""The heartbeat: one statement a second renews every lease of this process.

It has its own thread, loop and connection, so that neither model work nor a full pool can stall it.
"""

import asyncio
import math
import os
import signal
import time
from collections.abc import Callable, Collection

import structlog

from store.database import DATABASE_ERRORS, Database
from store.runs import stages
from store.runs.stages import Claim
from workers.loop import LoopThread, essential

log = structlog.get_logger(__name__)


class Leases:
    """The stages this process holds, kept alive."""

    def __init__(
        self, database_url: str, worker_id: str, *, lease_s: float, heartbeat_s: float, hung_s: float = math.inf
    ) -> None:
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._heartbeat_s = heartbeat_s
        self._held: dict[int, Claim] = {}
        self.on_cancelled: Callable[[Collection[int]], object] = lambda attempts: None
        """Called on its thread with the attempts that are held for jobs which are cancelled, again until they end."""
        self._released: dict[str, float] = {}
        self._most_beats = hung_s / heartbeat_s
        self._beats = 0
        self._thread = LoopThread("heartbeat")
        essential(self._thread.submit(self._beat(database_url)), "heartbeat")

    @property
    def count(self) -> int:
        """Stages held now."""
        return len(self._held)

    def kinds(self, within_s: float) -> set[str]:
        """The kinds of the jobs whose stages are held, or were until so many seconds ago."""
        since = time.monotonic() - within_s
        lately = {kind for kind, released in list(self._released.items()) if released > since}
        return lately | {claim.kind for claim in list(self._held.values())}

    def hold(self, claim: Claim) -> None:
        """Renew the lease of a claim from now on."""
        self._held[claim.attempt_id] = claim

    def release(self, claim: Claim) -> None:
        """Renew it no more."""
        self._held.pop(claim.attempt_id, None)
        self._released[claim.kind] = time.monotonic()

    async def pulse(self) -> None:
        """Show for ever that the loop which runs this is not blocked: a process that cannot is ended."""
        while True:
            self._beats = 0
            await asyncio.sleep(self._heartbeat_s)

    def stop(self) -> None:
        """End the heartbeat."""
        self._thread.stop()

    async def _beat(self, database_url: str) -> None:
        database = Database(database_url, pool_size=1, application_name="ragq heartbeat")
        try:
            while True:
                self._end_if_hung()
                try:
                    # A third: a beat that gets no answer leaves time for another before the leases run out.
                    held = list(self._held.values())
                    async with asyncio.timeout(self._lease_s / 3), database.connection() as connection:
                        cancelled = await stages.renew(connection, self._worker_id, held, self._lease_s)
                    if cancelled:
                        self.on_cancelled([claim.attempt_id for claim in held if claim.job_id in cancelled])
                except DATABASE_ERRORS as error:
                    log.warning("heartbeat_missed", error_type=type(error).__name__)
                await asyncio.sleep(self._heartbeat_s)
        finally:
            await database.close()

    def _end_if_hung(self) -> None:
        # Beats are counted, as a suspended process has none of them.
        self._beats += 1
        if self._beats > self._most_beats:
            log.critical("worker_killed", limit="RAGQ_HUNG_SECONDS")
            os.kill(os.getpid(), signal.SIGKILL)
