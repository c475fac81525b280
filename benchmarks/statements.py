"""What the statements of a database take, as Postgres counts them."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from stack.postgres import PostgresServer
from store import migrate
from store.database import Connection

RESET: Final = "SELECT pg_stat_statements_reset()"

TAKEN: Final = """
SELECT query, calls, mean_exec_time AS mean_ms, total_exec_time AS total_ms
FROM pg_stat_statements WHERE query !~* '^(begin|commit|rollback|savepoint|release|set|show)\\M'
ORDER BY total_exec_time DESC
"""

_NAME_CHARS: Final = 60


class Statement(NamedTuple):
    """One statement."""

    name: str
    calls: int
    mean_ms: float
    total_ms: float


def counting_postgres(folder: Path) -> PostgresServer:
    """A migrated server that counts its statements; not running."""
    with PostgresServer(folder, durable=True) as server:
        migrate.upgrade(server.url)
    with (server.cluster / "postgresql.auto.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track = 'all'\n")
    return PostgresServer(folder, durable=True)


async def statements(connection: Connection) -> dict[str, Statement]:
    """Every statement since the last reset, by its name, those that took most first."""
    found: dict[str, Statement] = {}
    for row in await connection.fetch(TAKEN):
        name = name_of(row["query"])
        found.setdefault(name, Statement(name, row["calls"], row["mean_ms"], row["total_ms"]))
    return found


def name_of(query: str) -> str:
    """A statement in one short line.

    >>> name_of("WITH due AS (\\n    SELECT 1\\n)\\nSELECT 2")
    'WITH due AS ( SELECT 1 ) SELECT 2'
    """
    return re.sub(r"\s+", " ", re.sub(r"--.*", "", query)).strip()[:_NAME_CHARS]
