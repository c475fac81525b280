"""Gives work back that its worker lost, and puts jobs back into the backlog whose messages seem lost.

It also publishes an index that may lack participants and whose last job failed.

How long a message may take before it is sent again doubles each time: a careless reaper would flood the queue with
copies. When a queue of the broker holds at least as many messages as were sent and not claimed, nothing is missing.
"""

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

import structlog

from store.database import Connection, Database
from store.references import index_runs, references
from store.runs import backlog, jobs, notifications, runs, stages
from store.runs.backlog import Unclaimed
from workers.runner import LONGEST_RETRY_SECONDS
from workers.turns import Depths

log = structlog.get_logger(__name__)

#: The waits that double are never longer than this.
LONGEST_WAIT_SECONDS: Final = 600.0
#: The clocks of two machines differ, and are corrected, by less.
_TOLERATED_S: Final = 1.0
#: Jobs that are taken back in one statement.
_AT_ONCE: Final = 1000


class Reaper:
    """Sweeps the stages of every job, again and again."""

    def __init__(self, database: Database, *, lease_s: float, grace_s: float, max_interruptions: int) -> None:
        self._database = database
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._max_interruptions = max_interruptions
        self._clock_ahead_s = math.inf
        """Of the database's clock, before the one of this machine that never runs backwards."""
        self._clock_wrong_until = 0.0

    async def release(self, connection: Connection) -> None:
        """One round over the rows alone: the clock, expired leases, publications that are due, runs that others
        await, and messages about runs.
        """
        now = time.monotonic()
        before, self._clock_ahead_s = self._clock_ahead_s, await runs.database_s(connection) - now
        # At first it is not known whether it was set back.
        if self._clock_ahead_s < before - _TOLERATED_S:
            self._clock_wrong_until = now + LONGEST_RETRY_SECONDS
        if now < self._clock_wrong_until:
            await runs.bring_forward(connection, lease_s=self._lease_s, longest_retry_s=LONGEST_RETRY_SECONDS)
        # While the database was away nobody could renew a lease: its workers get as long as a lease to do so.
        if self._database.reachable_for_s >= self._lease_s:
            await self._expire(connection)
        for job_id in await index_runs.publish_again(connection):
            log.info("partial_index_due", job_id=job_id)
        for run_id, after_id, has_succeeded in await jobs.end_waits(connection):
            log.info("wait_ended", run_id=run_id, after=after_id, has_succeeded=has_succeeded)
        for run_id in await notifications.make_due(connection, unless=references.is_publication_due):
            log.info("notification_due", run_id=run_id)

    async def take_back(self, connection: Connection, depths: Depths) -> list[int]:
        """Put jobs back whose messages seem lost, and those that waited until now. How many."""
        found = overdue(await backlog.unclaimed(connection), depths, grace_s=self._grace_s)
        return await backlog.take_back(connection, found[:_AT_ONCE]) if found else []

    async def _expire(self, connection: Connection) -> None:
        for expired in await stages.expire(connection, max_interruptions=self._max_interruptions):
            log.warning(
                "stage_poisoned" if expired.is_poisoned else "stage_interrupted",
                job_id=expired.job_id,
                stage=expired.stage,
                attempt=expired.attempt,
                worker=expired.worker_id,
            )


def overdue(unclaimed: Sequence[Unclaimed], depths: Depths, *, grace_s: float) -> list[int]:
    """The jobs to send again, those first that waited longest.

    A message is overdue after `grace_s * 2 ** (times sent again)` seconds, unless the broker holds a message for every
    one that was sent; after `grace_s` when it holds none at all; and after LONGEST_WAIT_SECONDS in any case.
    """
    sent = Counter(of.queue for of in unclaimed if not of.is_due_now)

    def is_overdue(of: Unclaimed) -> bool:
        held = depths.in_queue.get(of.queue, 0)
        if of.is_due_now or of.waited_s > LONGEST_WAIT_SECONDS:
            return True
        if held >= sent[of.queue]:
            return False
        return of.waited_s > grace_s * (2 ** min(of.resent, 20) if held else 1)

    return [of.job_id for of in sorted(unclaimed, key=lambda of: -of.waited_s) if is_overdue(of)]
