"""Sends what is due for jobs, after the change that made it due is committed."""

import asyncio

from celery import Celery

from store.database import Database
from store.runs import pending_chains
from workers.messages import send


async def enqueue(app: Celery, database: Database, job_id: int) -> bool:
    """Send what is left to do for a job; False when the broker is away: nothing is lost then, the reaper sends it.

    Takes no connection, so that it cannot be called before what it sends is committed. Sending blocks, and is done on
    another thread.
    """
    async with database.connection() as connection:
        chains = await pending_chains.pending_chains(connection, [job_id])
    return await asyncio.to_thread(send, app, chains) == len(chains)
