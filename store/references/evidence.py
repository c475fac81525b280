"""The evidence vectors of people: of a reference index, and of a run."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.values.phq8 import PHQ8Item
from store.database import Connection
from store.vectors import to_numpy

OF_INDEX = """
SELECT p.participant_id, p.items, e.item, e.vector
FROM reference_participant AS p LEFT JOIN reference_evidence AS e USING (index_id, participant_id)
WHERE p.index_id = $1 ORDER BY p.participant_id, e.item
"""

OF_RUN = """
SELECT j.subject::integer AS participant_id, NULL AS items, e.item, v.vector
FROM job AS j
JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'embed' AND a.status = 'done'
CROSS JOIN LATERAL jsonb_array_elements_text(a.output -> 'items') WITH ORDINALITY AS e (item, ordinal)
JOIN stage_vector AS v ON v.attempt_id = a.attempt_id AND v.ordinal = e.ordinal - 1
WHERE j.run_id = $1 AND j.mode = 'few_shot' ORDER BY j.subject, e.item
"""


class PersonsEvidence(NamedTuple):
    """What a participant said about each item, as vectors; and the item scores of one of an index, by evidence key."""

    items: dict[str, Any] | None
    vectors: dict[PHQ8Item, NDArray[np.float32]]


async def of_index(connection: Connection, index_id: int) -> dict[int, PersonsEvidence]:
    """Everybody in a reference index, by number."""
    return await _people(connection, OF_INDEX, index_id, PHQ8Item.from_evidence_key)


async def of_run(connection: Connection, run_id: int) -> dict[int, PersonsEvidence]:
    """The few-shot participants of a run that have any evidence, by number."""
    return await _people(connection, OF_RUN, run_id, PHQ8Item)


async def _people(connection: Connection, query: str, number: int, item_of: Any) -> dict[int, PersonsEvidence]:
    found: dict[int, PersonsEvidence] = {}
    for row in await connection.fetch(query, number):
        person = found.setdefault(row["participant_id"], PersonsEvidence(row["items"], {}))
        if row["item"] is not None:
            person.vectors[item_of(row["item"])] = to_numpy(row["vector"])
    return found
