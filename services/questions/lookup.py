"""A stored query, found by its id."""

from schemas.errors import QueryMissingError, Refused
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery


def not_ready(query_id: int, step: str, needed: str) -> Refused:
    """A step of a question needs the output of an earlier one. `needed` is the step to run first."""
    what = (
        f"its expansion is not stored. `ragq query run {query_id} --until expand` asks the model again, "
        f"`ragq query edit {query_id} --mqe TEXT` stores search phrases of yours"
        if needed == "expand"
        else f"step '{needed}' comes first. Run that step"
    )
    return Refused(
        f"Query {query_id} is not ready for step '{step}': {what}, or the whole chain: `ragq query run {query_id}`.",
        slug="step-not-ready",
    )


async def get_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query of an id. Raises QueryMissingError."""
    query = await queries.by_id(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query


async def lock_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query as it is now, locked until the transaction ends. Raises QueryMissingError."""
    query = await queries.hold(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query
