"""The stages that stopped workers gave back."""

from store.database import Connection

# Nothing of it was sent again, and the index of due stages has those first.
GIVEN_BACK = """
SELECT count(*) FROM stage_run
WHERE status = 'ready' AND enq_at IS NULL AND attempts > 0 AND finished_at > now() - $1 * interval '1 second'
"""


async def given_back_since(connection: Connection, seconds: float) -> int:
    """How many stages were given back in the last seconds and wait for a worker."""
    found: int = await connection.fetchval(GIVEN_BACK, seconds)
    return found
