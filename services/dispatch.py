"""Sends what is due for jobs, after the change that made it due is committed."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from celery import Celery

from store.database import Database
from store.runs import pending_chains
from workers.messages import BROKER_ERRORS, send


class Enqueued(NamedTuple):
    """How many jobs had a message to be sent, and for how many it was sent."""

    due: int
    sent: int

    @property
    def is_complete(self) -> bool:
        """Every message was sent. Otherwise the broker is unavailable: nothing is lost, the reaper sends the rest."""
        return self.sent == self.due


async def enqueue(app: Celery, database: Database, job_ids: Sequence[int]) -> Enqueued:
    """Send what is left to do for each job, in the order given.

    Takes no connection, so that it cannot be called before what it sends is committed. Sending blocks, so it runs on
    another thread.
    """
    async with database.connection() as connection:
        chains = await pending_chains.pending_chains(connection, job_ids)
    return Enqueued(len(chains), await asyncio.to_thread(send, app, chains))


async def is_broker_available(app: Celery, *, timeout_s: float) -> bool:
    """Whether the broker accepts a connection within so many seconds."""
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.to_thread(_connect, app, timeout_s)
    except BROKER_ERRORS:
        return False
    return True


def _connect(app: Celery, timeout_s: float) -> None:
    with app.connection_for_write(connect_timeout=timeout_s) as connection:
        connection.connect()
