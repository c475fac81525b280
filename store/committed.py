"""Transactions whose outcome is found out when the answer to their COMMIT is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from schemas.errors import OutcomeUnknownError
from store.database import UNAVAILABLE_ERRORS, Connection, Database, DatabaseUnavailableError

Result = TypeVar("Result")

STATUS = "SELECT pg_xact_status($1::text::xid8)"

_ASK_FOR_SECONDS = 30.0
_POLL_SECONDS = 0.2


async def committed(database: Database, work: Callable[[Connection], Awaitable[Result]]) -> Result:
    """Run statements in one transaction. Its result counts as soon as the transaction is committed.

    When the connection is lost during the COMMIT, or it takes too long, Postgres is asked what became of it. The error
    is raised when it was rolled back, and OutcomeUnknownError when Postgres does not answer.
    """
    done: list[Result] = []
    number = ""
    try:
        async with database.connection() as connection, connection.transaction():
            result = await work(connection)
            number = await connection.fetchval("SELECT pg_current_xact_id()::text")
            done.append(result)
    except UNAVAILABLE_ERRORS as error:
        if not done:
            raise
        if not await _is_committed(database, number, error):
            raise
    return done[0]


async def _is_committed(database: Database, number: str, lost: BaseException) -> bool:
    """Whether a transaction is committed, once it has ended."""

    async def status(connection: Connection) -> str | None:
        found: str | None = await connection.fetchval(STATUS, number)
        return found

    deadline = asyncio.get_running_loop().time() + _ASK_FOR_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        try:
            found = await database.with_retry(status, retry_for_s=_ASK_FOR_SECONDS)
        except DatabaseUnavailableError:
            break
        if found != "in progress":
            return found == "committed"
        await asyncio.sleep(_POLL_SECONDS)
    raise OutcomeUnknownError(
        "The database did not answer whether the run was stored. `ragq runs` lists the newest runs; without --new "
        "the same submission again finds its run."
    ) from lost
