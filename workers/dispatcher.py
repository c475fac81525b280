"""Sends the jobs of the backlog, and sweeps: one process of a cluster at a time does both, every worker may.

The backlog is in Postgres. The broker holds a window: a few messages for each stage that live workers can run. The
dispatcher fills it in fair turns, when jobs are added or made ready (a notification) and as messages are taken. All
its statements go through the session that holds the lock of the election, and nothing is sent but what that session
has just marked as sent: a process that lost the lock sends nothing.

The reaper gives work back that its worker lost, and puts jobs back into the backlog whose messages seem lost. How long
a message may take before it is sent again doubles each time: a careless reaper would flood the queue with copies. When
a queue of the broker holds at least as many messages as were sent and not claimed, nothing is missing.
"""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final

import asyncpg
import structlog
from celery import Celery

from store.database import DATABASE_ERRORS, Connection, Database, asyncpg_url
from store.references import index_runs, references
from store.runs import backlog, jobs, notifications, runs, stages, workers
from store.runs.backlog import CHANNEL, Flow, FlowKind, Unclaimed
from store.runs.jobs import pending_chains
from workers.app import BROKER_ERRORS
from workers.broker import NORMAL, priority_of
from workers.runner import LONGEST_RETRY_SECONDS
from workers.turns import Depths, QueueDepths, Turns, WaitingFlow, room, send, windows

log = structlog.get_logger(__name__)

#: Silence after which Postgres ends the session of the dispatcher.
SILENT_SECONDS: Final = 1.4
#: Between two looks whether the lock is free.
LOOK_SECONDS: Final = 0.5
#: Between two looks at the broker, as long as the last one found something to send, and at most.
_SOONEST_S: Final = 0.02
_LATEST_S: Final = 0.25
#: With an empty backlog. The session of the lock is ended when it is silent for a second more.
_IDLE_S: Final = 0.4
#: Between two readings of the backlog's flows because of notifications.
_NOTICED_S: Final = 0.05
#: Jobs that are read ahead, of all flows together and of one, and flows that are read in one statement.
_READ_AHEAD: Final = 256
_OF_A_FLOW: Final = (4, 128)
_FLOWS_AT_ONCE: Final = 64

#: The waits that double are never longer than this.
LONGEST_WAIT_SECONDS: Final = 600.0
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
        # At first it is not known whether it was set back. Clocks of two machines differ by less, and are corrected.
        if self._clock_ahead_s < before - 1:
            self._clock_wrong_until = now + LONGEST_RETRY_SECONDS
        if now < self._clock_wrong_until:
            await runs.bring_forward(connection, lease_s=self._lease_s, longest_retry_s=LONGEST_RETRY_SECONDS)
        # While the database was away nobody could renew a lease: its workers get as long as a lease to do so.
        if self._database.reachable_for_s >= self._lease_s:
            await stages.expire(connection, max_interruptions=self._max_interruptions)
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


# Postgres releases the lock of the election when the process dies, and also when nothing was heard of it for
# SILENT_SECONDS, so that a process that is cut off has a successor.

_STATEMENT_SECONDS = 5.0

# The first is released at once: it only shows that nobody holds the lock, without a connection for each candidate.
IS_FREE = "SELECT pg_try_advisory_xact_lock(hashtextextended('ragq dispatcher ' || $1, 0))"
TAKE = "SELECT pg_advisory_lock(hashtextextended('ragq dispatcher ' || $1, 0))"
SETTINGS = f"""
{backlog.BY_INDEX};
SET idle_session_timeout = {SILENT_SECONDS * 1000:.0f};
SET idle_in_transaction_session_timeout = {SILENT_SECONDS * 1000:.0f};
SET lock_timeout = {LOOK_SECONDS * 1000:.0f}
"""


@asynccontextmanager
async def elected(database: Database, cluster: str) -> AsyncIterator[Connection | None]:
    """The session that holds the lock of a cluster until the end of the block; None when another process has it."""
    async with database.connection() as lent:
        is_free = await lent.fetchval(IS_FREE, cluster)
    if not is_free:
        yield None
        return
    connection = await asyncpg.connect(
        asyncpg_url(database.url),
        timeout=_STATEMENT_SECONDS,
        command_timeout=_STATEMENT_SECONDS,
        server_settings={"application_name": "ragq dispatcher"},
    )
    try:
        await connection.execute(SETTINGS)
        is_taken = False
        with suppress(TimeoutError, asyncpg.LockNotAvailableError):
            await connection.execute(TAKE, cluster)
            await connection.execute("SET lock_timeout = DEFAULT")
            is_taken = True
        yield connection if is_taken else None
    finally:
        connection.terminate()


class BrokerLostError(Exception):
    """The broker cannot be reached from here; a worker that can reach it shall dispatch."""


class Dispatcher:
    """Dispatches whenever this process is elected."""

    def __init__(self, app: Celery, database: Database, reaper: Reaper, *, cluster: str, every_s: float) -> None:
        self._app = app
        self._database = database
        self._reaper = reaper
        self._cluster = cluster
        self._every_s = every_s
        self._depths = QueueDepths(app)
        self._woken = asyncio.Event()
        self._forget()

    async def run(self) -> None:
        """Stand for election, and dispatch while elected, until cancelled."""
        while True:
            wait_s = LOOK_SECONDS * random.uniform(0.7, 1.0)
            try:
                async with elected(self._database, self._cluster) as connection:
                    if connection is not None:
                        await self._lead(connection)
            except BrokerLostError:
                log.warning("broker_not_reached", remedy="another worker may dispatch")
                wait_s = 3 * LOOK_SECONDS
            except DATABASE_ERRORS as error:
                log.warning("dispatch_interrupted", error_type=type(error).__name__)
            await asyncio.sleep(wait_s)

    def close(self) -> None:
        self._depths.close()

    async def _lead(self, connection: Connection) -> None:
        log.info("dispatcher_elected")
        self._forget()
        await connection.add_listener(CHANNEL, self._hear)
        swept_at = noticed_at = -self._every_s
        wait_s = _SOONEST_S
        while True:
            is_noticed = self._woken.is_set()
            self._woken.clear()
            is_sweep = time.monotonic() >= swept_at + self._every_s
            if is_sweep:
                swept_at = time.monotonic()
                await self._reaper.release(connection)
            depths = await self._look()
            if is_sweep:
                await self._reaper.take_back(connection, depths)
                self._windows = windows(await workers.capacities(connection, self._cluster))
            if is_sweep or is_noticed:
                noticed_at = time.monotonic()
                self._take_in(await backlog.flows(connection))
                self._set_aside.clear()
                for queue, of, jobs in await backlog.set_aside(connection):
                    self._set_aside[queue, priority_of(of.kind, of.priority)] += jobs
            sent = await self._fill(connection, depths)
            wait_s = _SOONEST_S if sent else min(2 * wait_s, _LATEST_S if self._queued else _IDLE_S)
            if not (sent or is_sweep or is_noticed):
                await connection.execute("SELECT 1")
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait_s, max(0.0, swept_at + self._every_s - time.monotonic()))):
                    await self._woken.wait()
            if self._woken.is_set():
                await asyncio.sleep(max(0.0, noticed_at + _NOTICED_S - time.monotonic()))

    async def _look(self) -> Depths:
        try:
            return await asyncio.to_thread(self._depths.read, tuple(self._windows))
        except BROKER_ERRORS as error:
            raise BrokerLostError from error

    def _forget(self) -> None:
        self._queued: dict[Flow, WaitingFlow] = {}
        self._turns: Turns[Flow] = Turns()
        self._windows = windows([])
        self._set_aside: Counter[tuple[str, int]] = Counter()
        self._woken.set()

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        """Jobs were added, or those of a run became due: what was read of it may be out of date."""
        if payload:
            for flow in [flow for flow in self._queued if flow.run_id == int(payload)]:
                del self._queued[flow]
        self._woken.set()

    def _take_in(self, flows: dict[Flow, FlowKind]) -> None:
        kept, self._queued = self._queued, {}
        for flow, of in flows.items():
            queued = kept.get(flow)
            if queued is None or (queued.is_read and not queued.jobs):
                queued = WaitingFlow(of)
            queued.of = of
            self._queued[flow] = queued

    async def _fill(self, connection: Connection, depths: Depths) -> int:
        """Send what there is room for. How many jobs."""
        left = room(self._windows, depths, set_aside=self._set_aside)
        if not self._queued or max(left.values()) <= 0:
            return 0
        await self._read_ahead(connection)
        is_held = any(count for (_, priority), count in depths.waiting.items() if priority == NORMAL)
        chosen = self._turns.choose(self._queued, left, is_held=is_held)
        if not chosen:
            return 0
        # What cannot be marked has changed, or is changing now, and is read again when it is notified.
        chains = {
            job_id: queued.jobs.pop(job_id)
            for queued in self._queued.values()
            for job_id in queued.jobs.keys() & chosen
        }
        marked = await backlog.mark_sent(connection, dict.fromkeys(chosen))
        due = [chains[job_id] for job_id in chosen if job_id in marked]
        sent = await asyncio.to_thread(send, self._app, due, chosen)
        if sent < len(due):
            await backlog.mark_not_sent(connection, [chain.job_id for chain in due[sent:]])
            raise BrokerLostError
        return sent

    async def _read_ahead(self, connection: Connection) -> None:
        """Read more of the flows of which little is left. Jobs that wait for a time or a worker leave the backlog."""
        wanted = min(max(_OF_A_FLOW[0], _READ_AHEAD // len(self._queued)), _OF_A_FLOW[1])
        lacking = {
            flow: queued
            for flow, queued in self._queued.items()
            if not queued.is_read and len(queued.jobs) <= wanted // 2
        }
        chosen = sorted(lacking, key=lambda flow: -lacking[flow].of.priority.weight)[:_FLOWS_AT_ONCE]
        if not chosen:
            return
        found = await backlog.oldest(
            connection, {flow: lacking[flow].last for flow in chosen}, dict.fromkeys(chosen, wanted)
        )
        job_ids = [job_id for read in found.values() for job_id in read]
        chains = {chain.job_id: chain for chain in await pending_chains(connection, job_ids)}
        aside: dict[int, datetime | None] = {}
        for flow in chosen:
            queued, read = lacking[flow], found.get(flow, [])
            queued.is_read = len(read) < wanted
            for job_id in read:
                queued.last = job_id
                chain = chains.get(job_id)
                if chain is None or not chain.is_ready:
                    aside[job_id] = None
                elif chain.not_before is not None:
                    aside[job_id] = chain.not_before
                else:
                    queued.jobs[job_id] = chain
        if aside:
            await backlog.mark_sent(connection, aside)
