"""Gives work back that its worker lost, and sends messages again that seem lost. One runs in every worker.

An index that may lack participants, and whose last job failed, is published at its word too.

Rows are taken with SKIP LOCKED, so any number of reapers share the work. How long a message may take before it is
sent again doubles each time: a careless reaper would flood the queue with copies. When the broker holds at least as
many messages for a stage as the stage has ready rows, nothing is missing and nothing is sent.
"""

import asyncio
import time
from typing import Final

import structlog
from celery import Celery

from schemas.chains import STAGES
from store.database import DATABASE_ERRORS, Connection, Database
from store.references import index_runs
from store.runs import pending_chains, stages
from store.runs.pending_chains import PendingChain
from workers import broker
from workers.app import KEY_PREFIX
from workers.database_clock import DatabaseClock
from workers.messages import BROKER_ERRORS, send
from workers.runner import LONGEST_RETRY_SECONDS

log = structlog.get_logger(__name__)

#: The errors of an unavailable database or broker; the next sweep tries again.
AWAY: Final[tuple[type[BaseException], ...]] = (*DATABASE_ERRORS, *BROKER_ERRORS)


class Reaper:
    """Sweeps the stages of every job, again and again."""

    def __init__(
        self,
        app: Celery,
        database: Database,
        *,
        every_s: float,
        lease_s: float,
        grace_s: float,
        max_interruptions: int,
    ) -> None:
        self._app = app
        self._database = database
        self._lease_s = lease_s
        self._every_s = every_s
        self._grace_s = grace_s
        self._max_interruptions = max_interruptions
        self._clock = DatabaseClock()

    async def run(self) -> None:
        """Sweep until cancelled. A database or broker that is away is met again at the next sweep."""
        while True:
            try:
                await self.sweep()
            except AWAY as error:
                log.warning("sweep_missed", error_type=type(error).__name__)
            await asyncio.sleep(self._every_s)

    async def sweep(self) -> int:
        """One round: expired leases, publications that are due, then overdue messages. How many messages were sent."""
        async with self._database.connection() as connection:
            if self._clock.was_set_back(await stages.database_s(connection), time.monotonic()):
                await stages.bring_forward(connection, lease_s=self._lease_s, longest_retry_s=LONGEST_RETRY_SECONDS)
            # While the database was away nobody could renew a lease: its workers get as long as a lease to do so.
            if self._database.reachable_for_s >= self._lease_s:
                await self._take_back(connection)
            for job_id in await index_runs.publish_again(connection):
                log.info("partial_index_due", job_id=job_id)
        depths = await asyncio.to_thread(broker.depths, self._app.conf.broker_url, KEY_PREFIX, STAGES)
        async with self._database.connection() as connection:
            chains = await self._overdue(connection, depths)
        return await asyncio.to_thread(send, self._app, chains) if chains else 0

    async def _take_back(self, connection: Connection) -> None:
        for expired in await stages.expire(connection, max_interruptions=self._max_interruptions):
            log.warning(
                "stage_poisoned" if expired.is_poisoned else "stage_interrupted",
                job_id=expired.job_id,
                stage=expired.stage,
                attempt=expired.attempt,
                worker=expired.worker_id,
            )

    async def _overdue(self, connection: Connection, depths: broker.Depths | None) -> list[PendingChain]:
        if depths is None:
            empty, covered = [], []
        else:
            ready = await stages.ready_counts(connection)
            empty = [stage for stage in STAGES if not depths.waiting[stage] and not depths.unacknowledged]
            covered = [stage for stage in STAGES if 0 < ready.get(stage, 0) <= depths.waiting[stage]]
        job_ids = await stages.overdue(connection, grace_s=self._grace_s, empty_queues=empty, covered_queues=covered)
        return await pending_chains.pending_chains(connection, job_ids) if job_ids else []
