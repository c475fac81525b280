"""A stored query, found by its id."""

from schemas.errors import QueryMissingError
from store.database import Connection
from store.questions import queries, query_jobs
from store.questions.queries import StoredQuery


async def get_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query of an id. Raises QueryMissingError."""
    query = await queries.by_id(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query


async def lock_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query as it is now, locked until the transaction ends. Raises QueryMissingError."""
    query = await query_jobs.hold(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query
