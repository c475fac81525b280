"""The audit trail of retrieval (Specs 32 and 064): the kept references, without their text."""

from schemas.values.participants import ValidatedReferences
from schemas.values.phq8 import PHQ8Item

RETRIEVED_REFERENCE = "retrieved_reference"
"""The name of the event."""

AuditFields = dict[str, str | int | float | None]


def retrieved_reference_events(validated: ValidatedReferences) -> list[AuditFields]:
    """The fields of one event per kept reference, by item in the questionnaire's order, then by rank from 1."""
    return [
        {
            "item": item.value,
            "evidence_key": item.evidence_key,
            "rank": rank,
            "similarity": reference.similarity,
            "participant_id": reference.participant_id,
            "reference_score": reference.score,
            "chunk_hash": reference.chunk_hash,
            "chunk_chars": reference.chunk_chars,
        }
        for item in PHQ8Item
        for rank, reference in enumerate(validated.items.get(item, ()), start=1)
    ]
