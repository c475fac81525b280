"""The labels that are stored, by which splits are checked and drawn."""

from schemas.values.interviews import StoredLabels
from schemas.values.phq8 import PHQ8Item
from store.database import Connection

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
