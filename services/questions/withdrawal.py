"""A question whose expansion failed is taken back, so that a refused request stores nothing."""

from schemas.errors import QueryMissingError, StageRunningError
from schemas.statuses import StageStatus
from services.questions.lookup import lock_query
from store.access.idempotency import RequestKey, release
from store.database import Connection
from store.questions import deletions
from store.runs.edits import stage_states


async def withdraw(connection: Connection, query_id: int, *, key: RequestKey | None) -> bool:
    """Delete a question whose expansion failed, with its job and all attempts, and release the key of its request.

    False, and nothing is changed, when it has been retried, edited or deleted meanwhile.
    """
    try:
        async with connection.transaction():
            query = await lock_query(connection, query_id)
            (expand, *_) = await stage_states(connection, query.job_id)
            if expand.status is not StageStatus.FAILED:
                return False
            await deletions.delete_query(connection, query)
            await release(connection, key)
    except (QueryMissingError, StageRunningError):
        return False
    return True
