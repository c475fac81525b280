"""Stored splits with their participants."""

from collections.abc import Mapping
from typing import Any

from schemas.values.stored_splits import SplitMethod, SplitOrigin, StoredSplit
from store.database import Connection

SPLITS = """
SELECT s.name, s.csv_hash, s.ids_hash, s.origin, s.imported_at,
       coalesce(array_agg(m.participant_id ORDER BY m.ordinal) FILTER (WHERE m.split IS NOT NULL), '{}')
           AS participant_ids
FROM split AS s LEFT JOIN split_member AS m ON m.split = s.name
GROUP BY s.name ORDER BY s.name
"""


async def stored_splits(connection: Connection) -> dict[str, StoredSplit]:
    """Every stored split, by name."""
    return {
        row["name"]: StoredSplit(
            **{**row, "participant_ids": tuple(row["participant_ids"]), "origin": _origin(row["origin"])}
        )
        for row in await connection.fetch(SPLITS)
    }


def _origin(stored: Mapping[str, Any] | None) -> SplitOrigin | None:
    if stored is None:
        return None
    return SplitOrigin(**{**stored, "method": SplitMethod(stored["method"]), "missing": tuple(stored["missing"])})
