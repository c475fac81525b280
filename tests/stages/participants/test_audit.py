"""The audit trail of retrieval (Specs 32 and 064)."""

from schemas.values.participants import PHQ8Item, ValidatedReferences
from stages.participants.rerank import retrieved_reference_events
from stages.texts.characters import short_hash
from tests.stages.participants.builders import reference


def test_two_references_give_two_events_with_exactly_these_fields() -> None:
    first = reference("first chunk", chunk_id=303, similarity=0.9, score=2)
    second = reference("second chunk", chunk_id=304, similarity=0.8, score=None)
    validated = ValidatedReferences(validator=None, items={PHQ8Item.SLEEP: (first, second)}, verdicts={})

    assert retrieved_reference_events(validated) == [
        {
            "item": "Sleep",
            "evidence_key": "PHQ8_Sleep",
            "rank": 1,
            "similarity": 0.9,
            "participant_id": 303,
            "reference_score": 2,
            "chunk_hash": short_hash("first chunk"),
            "chunk_chars": 11,
        },
        {
            "item": "Sleep",
            "evidence_key": "PHQ8_Sleep",
            "rank": 2,
            "similarity": 0.8,
            "participant_id": 304,
            "reference_score": None,
            "chunk_hash": short_hash("second chunk"),
            "chunk_chars": 12,
        },
    ]
