"""The vectors that attempts stored."""

from stages.ports import Vectors
from store.database import Connection
from store.vectors import to_matrix

VECTORS = "SELECT vector FROM stage_vector WHERE attempt_id = $1 ORDER BY ordinal"


async def of_attempt(connection: Connection, attempt_id: int) -> Vectors:
    """The vectors of an attempt, one row each in stored order; a matrix of zero rows when it stored none."""
    return to_matrix(row["vector"] for row in await connection.fetch(VECTORS, attempt_id))
