"""What people call runs, and what they note about them."""

import asyncpg

from schemas.errors import Refused, RunMissingError
from schemas.values.runs import LONGEST_NAME, run_name, run_number
from store.database import Connection

BY_NAME = "SELECT id FROM run WHERE lower(name) = lower($1)"

NAMES = "SELECT name FROM run WHERE name IS NOT NULL ORDER BY id DESC"

RENAME = "UPDATE run SET name = $2 WHERE id = $1 RETURNING id"

ANNOTATE = "UPDATE run SET note = $2 WHERE id = $1 RETURNING id"

BY_NUMBER = "SELECT id FROM run WHERE id = $1"


def checked(words: str) -> str:
    """The name of a run as it is stored. Raises Refused for words that cannot be one."""
    name = run_name(words)
    if name is None:
        raise Refused(
            f"The name of a run is one line of 1 to {LONGEST_NAME} characters; it does not begin with '-' and is not "
            "the number of a run or job.",
            slug="run-value-unusable",
        )
    return name


async def find(connection: Connection, words: str) -> int | None:
    """The run that a number such as `r12`, or a name, stands for; None when there is none."""
    number = run_number(words)
    if number is not None:
        found: int | None = await connection.fetchval(BY_NUMBER, number)
        return found
    name = run_name(words)
    return None if name is None else await by_name(connection, name)


async def by_name(connection: Connection, name: str) -> int | None:
    """The run of a name, compared without case; None when there is none."""
    found: int | None = await connection.fetchval(BY_NAME, name)
    return found


async def all_names(connection: Connection) -> list[str]:
    """The names of all runs, those of newer runs first."""
    return [row["name"] for row in await connection.fetch(NAMES)]


async def rename(connection: Connection, run_id: int, name: str | None) -> None:
    """Give a run a name, or take it away. Raises RunMissingError, and Refused with the run that has it."""
    try:
        async with connection.transaction():
            found = await connection.fetchval(RENAME, run_id, name)
    except asyncpg.UniqueViolationError:
        taken_by = None if name is None else await by_name(connection, name)
        if taken_by is None:
            raise
        raise Refused(
            f"Run r{taken_by} has this name already; `ragq set r{taken_by} --name ''` takes it away from that run.",
            slug="run-name-taken",
        ) from None
    if found is None:
        raise RunMissingError(run_id)


async def annotate(connection: Connection, run_id: int, note: str | None) -> None:
    """Store what people note about a run, or remove it. Raises RunMissingError."""
    if await connection.fetchval(ANNOTATE, run_id, note) is None:
        raise RunMissingError(run_id)
