"""Runs that are stored: whether there is one, and what it was submitted with."""

from typing import Any

from store.database import Connection

FROZEN = "SELECT settings, coalesce((request ->> 'draw')::bigint, 0) AS draw FROM run WHERE id = $1"


async def exists(connection: Connection, *, job_id: int | None = None, run_id: int | None = None) -> bool:
    """Whether there is a job, or a run, of that number."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM job WHERE id = $1) OR EXISTS (SELECT FROM run WHERE id = $2)", job_id, run_id
    )
    return found


async def count(connection: Connection) -> int:
    """How many runs there are."""
    return int(await connection.fetchval("SELECT count(*) FROM run"))


async def frozen(connection: Connection, run_id: int) -> tuple[dict[str, Any], int]:
    """The settings of a run as they were frozen, value and source by name, and its draw."""
    row = await connection.fetchrow(FROZEN, run_id)
    return row["settings"], row["draw"]


async def settings(connection: Connection, run_id: int) -> dict[str, Any]:
    """The settings of a run as they were frozen: value and source by name."""
    frozen: dict[str, Any] = await connection.fetchval("SELECT settings FROM run WHERE id = $1", run_id)
    return frozen


async def baseline(connection: Connection, run_id: int) -> dict[str, Any] | None:
    """The scores without any transcript that a run was submitted with; None without any."""
    found: dict[str, Any] | None = await connection.fetchval(
        "SELECT request -> 'baseline' FROM run WHERE id = $1", run_id
    )
    return found
