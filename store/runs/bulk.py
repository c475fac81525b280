"""Many changes of jobs in one transaction, with one notification for all of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from store.database import Connection

# The triggers notify nothing meanwhile; the notification of the run stands for all of its jobs.
BEGIN = "SELECT set_config('ragq.bulk', 'on', true)"

END = """
SELECT set_config('ragq.bulk', 'off', true),
       (SELECT pg_notify('ragq_changes', json_build_object('run', $1::bigint, 'job', NULL)::text)
        WHERE EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds'))
"""

BATCH: Final = 10_000
"""Jobs in one statement, and in memory at a time."""


@asynccontextmanager
async def bulk(connection: Connection, run_id: int) -> AsyncIterator[None]:
    """Change many jobs of a run in the transaction that is open, with one notification for all of them."""
    await connection.execute(BEGIN)
    yield
    await connection.execute(END, run_id)
