"""Stored splits with their participants."""

from collections.abc import Mapping
from typing import Any

from schemas.values.interviews import SplitMethod, SplitOrigin, StoredLabels, StoredSplit
from schemas.values.phq8 import PHQ8Item
from store.database import Connection

# How commands name a split `s`: by its data set too where another has a split of that name.
CALLED = """
CASE count(*) OVER (PARTITION BY s.name) WHEN 1 THEN s.name ELSE s.data_set || '/' || s.name END AS called
"""

SPLITS = f"""
SELECT s.data_set, s.name, {CALLED}, s.csv_hash, s.ids_hash, s.origin, s.imported_at,
       coalesce(array_agg(m.participant_id ORDER BY m.ordinal) FILTER (WHERE m.split IS NOT NULL), '{{}}')
           AS participant_ids
FROM split AS s LEFT JOIN split_member AS m ON (m.data_set, m.split) = (s.data_set, s.name)
GROUP BY s.data_set, s.name ORDER BY s.data_set, s.name
"""


async def stored_splits(connection: Connection) -> list[StoredSplit]:
    """Every stored split, by data set and name."""
    return [
        StoredSplit(**{**row, "participant_ids": tuple(row["participant_ids"]), "origin": _origin(row["origin"])})
        for row in await connection.fetch(SPLITS)
    ]


async def splits_of(connection: Connection, data_set: str) -> dict[str, StoredSplit]:
    """The splits of a data set, by name."""
    return {split.name: split for split in await stored_splits(connection) if split.data_set == data_set}


def _origin(stored: Mapping[str, Any] | None) -> SplitOrigin | None:
    if stored is None:
        return None
    return SplitOrigin(**{**stored, "method": SplitMethod(stored["method"]), "missing": tuple(stored["missing"])})


LABELS = "SELECT id, gender, phq8_binary, phq8_score, items FROM participant WHERE data_set = $1 ORDER BY id"


async def stored_labels(connection: Connection, data_set: str) -> dict[int, StoredLabels]:
    """The labels of every stored participant of a data set, by id."""
    rows = await connection.fetch(LABELS, data_set)
    return {
        row["id"]: StoredLabels(
            gender=row["gender"],
            phq8_binary=row["phq8_binary"],
            phq8_score=row["phq8_score"],
            items=row["items"] and {PHQ8Item.from_evidence_key(key): score for key, score in row["items"].items()},
        )
        for row in rows
    }
