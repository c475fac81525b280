"""How commands reach the servers: one connection, one event loop, and a clear error when a server is unavailable."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from schemas.errors import StackError
from schemas.settings.layers import ENV_FILE, merged
from stack.connections import Connections, connections, given_servers
from stack.home import find_home, full_disk
from store.database import UNAVAILABLE_ERRORS, Connection, Database, condition

Result = TypeVar("Result")


def servers() -> Connections:
    """The servers of the environment, the .env file, or the running stack."""
    return connections(merged(os.environ, ENV_FILE))


def with_database(work: Callable[[Connection], Awaitable[Result]]) -> Result:
    """Run a coroutine on a connection to the database. Raises StackError when the database is unavailable."""

    async def connected(database: Database) -> Result:
        async with database.connection() as connection:
            return await work(connection)

    return _run(connected)


def with_open_database(work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Run a coroutine that opens its own connections, one at a time. Raises StackError as `with_database` does."""
    return _run(work)


def unavailable(error: BaseException) -> StackError:
    """What a command reports when the database cannot be used, with the next step."""
    found = condition(error)
    if isinstance(error, asyncpg.DiskFullError) and "DATABASE_URL" not in given_servers(merged(os.environ, ENV_FILE)):
        return full_disk(find_home(merged(os.environ, ENV_FILE)).folder)
    return StackError(f"The database {found.words} ({type(error).__name__}). {found.remedy}")


def _run(work: Callable[[Database], Awaitable[Result]]) -> Result:
    # The signal module asks for the words of the event loop's handler, which hold those of what its coroutine returned:
    # every row of a run, twice. So it returns nothing.
    results: list[Result] = []

    async def connected() -> None:
        database = Database(servers().database_url, pool_size=1)
        try:
            results.append(await work(database))
        except asyncpg.UndefinedTableError:
            raise StackError("The database lacks tables of this version of ragq. `ragq migrate` makes them.") from None
        except asyncpg.UndefinedColumnError:
            raise StackError(
                "The tables of the database are of an older version of ragq. `ragq migrate` brings them up to date."
            ) from None
        except ValueError as error:
            if "unknown type" not in str(error):
                raise
            raise StackError("The database has no pgvector yet. `ragq migrate` prepares it.") from None
        except UNAVAILABLE_ERRORS as error:
            raise unavailable(error) from error
        finally:
            await database.close()

    asyncio.run(connected())
    return results[0]
