"""Subscriptions to changes of jobs, over Postgres notifications.

Triggers notify what a transaction changed when it commits, by ids, and only while a process listens. One connection of
a process listens, while it has subscriptions. A notification only means that something may be new: what it is, is read
from the rows.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, NamedTuple

import asyncpg
import structlog

from store.database import DATABASE_ERRORS, asyncpg_url
from store.runs import answer_pieces

log = structlog.get_logger(__name__)

CHANNEL: Final = "ragq_changes"

# The triggers notify for half a minute after this row was renewed.
LISTEN_ON = """
INSERT INTO change_listener (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET listened_at = now()
"""

_RENEWED_EVERY_SECONDS = 5.0
_LINGERS_SECONDS = 20.0
_TRIES_AGAIN_SECONDS = 1.0
_STATEMENT_SECONDS = 5.0
_RUNS_AT_MOST = 1000


class Change(NamedTuple):
    """What changed since it was asked last."""

    runs: frozenset[int]
    may_be_more: bool
    """Anything else may have changed too: the connection was lost for a while, or it was too much to list."""


class Subscription:
    """One subscription. Changes that come faster than they are read become one; a slow reader costs nothing."""

    def __init__(self, run_id: int | None, job_id: int | None, *, with_answers: bool) -> None:
        self._run_id = run_id
        self._job_id = job_id
        self._with_answers = with_answers
        self._runs: set[int] = set()
        self._may_be_more = False
        self._woken = asyncio.Event()

    async def next(self, timeout_s: float) -> Change | None:
        """What changed since the last call, as soon as anything did; None when nothing did for that long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return None
        change = Change(frozenset(self._runs), self._may_be_more)
        self._runs.clear()
        self._may_be_more = False
        self._woken.clear()
        return change

    def notify(self, run_id: int, job_id: int | None) -> None:
        """A job of a run changed; None for many of its jobs, or jobs that were added to it."""
        if self._run_id not in (None, run_id) or (job_id is not None and self._job_id not in (None, job_id)):
            return
        if len(self._runs) < _RUNS_AT_MOST:
            self._runs.add(run_id)
        else:
            self._may_be_more = True
        self._woken.set()

    def notify_answer(self, job_id: int) -> None:
        """A job wrote more of an answer."""
        if self._with_answers and self._job_id in (None, job_id):
            self._woken.set()

    def notify_anything(self) -> None:
        """Something may have been missed."""
        self._may_be_more = True
        self._woken.set()


class Changes:
    """The changes of a database, for all subscriptions of a process. Belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._connect = partial(
            asyncpg.connect,
            asyncpg_url(database_url),
            timeout=_STATEMENT_SECONDS,
            command_timeout=_STATEMENT_SECONDS,
            server_settings={"application_name": "ragq changes"},
        )
        self._subscriptions: set[Subscription] = set()
        self._listening: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(
        self, *, run_id: int | None = None, job_id: int | None = None, with_answers: bool = False
    ) -> AsyncIterator[Subscription]:
        """Wait for changes of a run, of a job, or of anything; and for pieces of answers, which change no state.

        Subscribe first and read the rows then. When the connection is made, and whenever it had to be made again, every
        subscription is woken once.
        """
        subscription = Subscription(run_id, job_id, with_answers=with_answers)
        self._subscriptions.add(subscription)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def close(self) -> None:
        """Stop listening. Open subscriptions are not woken any more."""
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    async def _listen(self) -> None:
        while self._subscriptions:
            try:
                await self._listen_on_one_connection()
            except DATABASE_ERRORS as error:
                log.warning("changes_not_heard", error_type=type(error).__name__)
                await asyncio.sleep(_TRIES_AGAIN_SECONDS)
        self._listening = None

    async def _listen_on_one_connection(self) -> None:
        connection = await self._connect()
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _connection: lost.set())
            await connection.execute(LISTEN_ON)
            await connection.add_listener(CHANNEL, self._hear)
            await connection.add_listener(answer_pieces.CHANNEL, self._hear_answer)
            for subscription in self._subscriptions:
                subscription.notify_anything()
            await self._renew_listening(connection, lost)
        finally:
            connection.terminate()

    async def _renew_listening(self, connection: asyncpg.Connection, lost: asyncio.Event) -> None:
        """Until the connection is lost, or there has been no subscription for a while."""
        unused_s = 0.0
        while not lost.is_set() and unused_s < _LINGERS_SECONDS:
            with suppress(TimeoutError):
                async with asyncio.timeout(_RENEWED_EVERY_SECONDS):
                    await lost.wait()
            if not lost.is_set():
                await connection.execute(LISTEN_ON)
            unused_s = 0.0 if self._subscriptions else unused_s + _RENEWED_EVERY_SECONDS

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        changed = json.loads(payload)
        for subscription in self._subscriptions:
            subscription.notify(changed["run"], changed["job"])

    def _hear_answer(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        for subscription in self._subscriptions:
            subscription.notify_answer(int(payload))
