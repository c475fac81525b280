"""Which runs and jobs were forked from which."""

from dataclasses import dataclass
from typing import Final

from store.database import Connection

FAMILY = """
SELECT f.parent_id, f.stage, r.request #>> '{fork,run}' AS named,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('run_id', c.run_id, 'stage', c.stage) ORDER BY c.run_id), '[]')
        FROM run_fork AS c WHERE c.parent_id = r.id) AS children
FROM run AS r LEFT JOIN run_fork AS f ON f.run_id = r.id WHERE r.id = $1
"""

PARENT_JOB = "SELECT parent_id FROM job_fork WHERE job_id = $1"


@dataclass(frozen=True)
class Child:
    """A fork of a run."""

    run_id: int
    stage: str


@dataclass(frozen=True)
class Family:
    """What a run was forked from, and its forks."""

    parent_id: int | None
    """None for a run that is no fork, and when the parent is deleted."""
    stage: str | None
    """The first stage that it computed itself; None for a run that is no fork."""
    named: int | None
    """The number of the parent, also when it is deleted."""
    children: tuple[Child, ...]


NO_FAMILY: Final = Family(None, None, None, ())


async def family(connection: Connection, run_id: int) -> Family:
    """The parent and the forks of a run."""
    row = await connection.fetchrow(FAMILY, run_id)
    if row is None:
        return NO_FAMILY
    return Family(
        parent_id=row["parent_id"],
        stage=row["stage"],
        named=None if row["named"] is None else int(row["named"]),
        children=tuple(Child(**child) for child in row["children"]),
    )


async def parent_job(connection: Connection, job_id: int) -> int | None:
    """The job that a job was forked from; None when it is none, or that one is deleted."""
    found: int | None = await connection.fetchval(PARENT_JOB, job_id)
    return found
