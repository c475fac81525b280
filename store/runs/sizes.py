"""How large the tables are, and which kinds of runs fill them."""

from typing import Final, NamedTuple

from store.database import Connection

TABLES = """
SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes
FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
ORDER BY bytes DESC, name
"""

ESTIMATED_ROWS = "SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = 'stage_attempt'::regclass"

# Of a small table all pages are read.
KINDS = """
SELECT j.kind AS name, sum(pg_column_size(a.*)) AS bytes
FROM stage_attempt AS a TABLESAMPLE SYSTEM ($1) JOIN job AS j ON j.id = a.job_id
GROUP BY j.kind ORDER BY bytes DESC
"""

_SAMPLED_ROWS: Final = 20_000


class Size(NamedTuple):
    """A table, or a kind of run."""

    name: str
    bytes: int


class Sizes(NamedTuple):
    """Where the bytes of a database are."""

    tables: list[Size]
    """With their indexes, the largest first."""
    kinds: list[Size]
    """What the attempts of each kind of run stored, estimated from a sample of them; vectors are not among it."""


async def sizes(connection: Connection) -> Sizes:
    """The sizes now. A database of any size is answered at once."""
    rows = await connection.fetchval(ESTIMATED_ROWS)
    percent = min(100.0, 100.0 * _SAMPLED_ROWS / rows) if rows > _SAMPLED_ROWS else 100.0
    kinds = await connection.fetch(KINDS, percent)
    return Sizes(
        tables=[Size(row["name"], row["bytes"]) for row in await connection.fetch(TABLES)],
        kinds=[Size(row["name"], round(row["bytes"] * 100 / percent)) for row in kinds],
    )
