"""Stored splits with their participants, and the labels that they are checked and drawn by."""

from schemas.values.interviews import SplitOrigin, StoredLabels, StoredSplit
from schemas.values.phq8 import PHQ8Item
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
            **{**row, "origin": None if row["origin"] is None else SplitOrigin.model_validate(row["origin"])}
        )
        for row in await connection.fetch(SPLITS)
    }


async def stored_labels(connection: Connection) -> dict[int, StoredLabels]:
    """The labels of every stored participant, by id."""
    rows = await connection.fetch("SELECT id, gender, phq8_binary, phq8_score, items FROM participant ORDER BY id")
    return {
        row["id"]: StoredLabels(
            gender=row["gender"],
            phq8_binary=row["phq8_binary"],
            phq8_score=row["phq8_score"],
            items=row["items"] and {PHQ8Item.from_evidence_key(key): score for key, score in row["items"].items()},
        )
        for row in rows
    }
