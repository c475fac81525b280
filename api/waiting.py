"""Waits until a job is idle, without holding a connection meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from schemas.statuses import JobStatus
from store.database import Database
from store.runs import jobs
from store.runs.changes import Changes

#: Rows are read at least this often: a change before the subscription sends no notification.
LONGEST_SLEEP_SECONDS: Final = 3.0


async def wait_until_idle(
    database: Database,
    changes: Changes,
    job_id: int,
    *,
    timeout_s: float | None,
    has_left: Callable[[], Awaitable[bool]],
) -> JobStatus | None:
    """The status of a job as soon as it is idle, which includes paused; or else after `timeout_s`, without a limit if
    that is None, or when the client has left.

    None when the job is no longer stored.
    """
    deadline = float("inf") if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
    async with changes.subscribe(job_id=job_id) as subscription:
        while True:
            async with database.connection() as connection:
                job = await jobs.job(connection, job_id)
            if job is None:
                return None
            left_s = deadline - asyncio.get_running_loop().time()
            if not job.status.is_open or left_s <= 0 or await has_left():
                return job.status
            await subscription.next(min(left_s, LONGEST_SLEEP_SECONDS))
