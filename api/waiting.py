"""Waits until a job is idle, without holding a connection meanwhile."""

import asyncio
from typing import Final

from schemas.statuses import JobStatus
from store.database import Database
from store.runs import jobs
from store.runs.changes import Changes

#: Rows are read at least this often: a change before the subscription sends no notification.
LONGEST_SLEEP_SECONDS: Final = 3.0


async def wait_until_idle(database: Database, changes: Changes, job_id: int, *, timeout_s: float) -> JobStatus | None:
    """The status of a job as soon as it is idle, which includes paused, or else after `timeout_s`.

    None when the job is no longer stored.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    async with changes.subscribe(job_id=job_id) as subscription:
        while True:
            async with database.connection() as connection:
                job = await jobs.job(connection, job_id)
            if job is None:
                return None
            left_s = deadline - asyncio.get_running_loop().time()
            if not job.status.is_open or left_s <= 0:
                return job.status
            await subscription.next(min(left_s, LONGEST_SLEEP_SECONDS))
