"""Everything in a reference index, vectors included: kept at an import, read whole."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from schemas.values.participants import ParticipantChunks
from schemas.values.phq8 import PHQ8Item
from stages.texts.ids import short_hash
from store.database import Connection
from store.references.references import IndexPlan, make_current, plan
from store.vectors import to_matrix, to_pgvector

_BULK_SECONDS = 600.0
"""For the statements that carry a whole index."""

DESCRIBE = "UPDATE reference_index SET artifact_meta = $2, chunk_scores_meta = $3, partial = $4 WHERE id = $1"

# The scores are frozen into the index, as they are in one that a run builds.
KEEP_PARTICIPANTS = """
INSERT INTO reference_participant (index_id, participant_id, items)
SELECT $1, n.participant_id, p.items
FROM unnest($2::integer[]) AS n (participant_id)
LEFT JOIN participant AS p ON (p.data_set, p.id) = ($3, n.participant_id)
"""

CHUNK_IDS = "SELECT id FROM reference_chunk WHERE index_id = $1 ORDER BY participant_id, ordinal"

CONTENT = """
SELECT p.participant_id, k.text, k.tags, k.scores, v.vector
FROM reference_participant AS p
LEFT JOIN reference_chunk AS k ON k.index_id = p.index_id AND k.participant_id = p.participant_id
LEFT JOIN reference_vector AS v ON v.chunk_id = k.id
WHERE p.index_id = $1 ORDER BY p.participant_id, k.ordinal
"""


async def keep_imported(
    connection: Connection,
    index: IndexPlan,
    participants: Sequence[ParticipantChunks],
    *,
    model_digest: str | None,
    artifact_meta: Mapping[str, Any] | None,
    chunk_scores_meta: Mapping[str, Any] | None,
    partial: Mapping[str, Any] | None,
) -> int:
    """Store and publish an index with everything in it, all or nothing, and replace the older one of its name and
    identity. Its id.

    `participants` have ascending ids. Their item scores are those that are imported now.
    """
    async with connection.transaction():
        index_id = await plan(connection, None, index)
        documents = (_json(document) for document in (artifact_meta, chunk_scores_meta, partial))
        await connection.execute(DESCRIBE, index_id, *documents)
        await connection.execute(
            KEEP_PARTICIPANTS, index_id, [person.participant_id for person in participants], index.data_set
        )
        await connection.copy_records_to_table(
            "reference_chunk",
            columns=("index_id", "participant_id", "ordinal", "text", "chunk_hash", "tags", "scores"),
            records=_chunk_records(index_id, participants),
            timeout=_BULK_SECONDS,
        )
        ids = [row["id"] for row in await connection.fetch(CHUNK_IDS, index_id)]
        await connection.copy_records_to_table(
            "reference_vector",
            columns=("chunk_id", "index_id", "participant_id", "ordinal", "vector"),
            records=_vector_records(index_id, ids, participants),
            timeout=_BULK_SECONDS,
        )
        await make_current(connection, index_id, index.name, model_digest, len(ids))
    return index_id


async def of_index(connection: Connection, index_id: int) -> list[ParticipantChunks]:
    """Everything in a published index, participants by id, chunks in order, vectors bit by bit as they are."""
    rows = await connection.fetch(CONTENT, index_id, timeout=_BULK_SECONDS)
    has_tags = any(row["tags"] is not None for row in rows)
    has_scores = any(row["scores"] is not None for row in rows)
    dimension = await connection.fetchval("SELECT dimension FROM reference_index WHERE id = $1", index_id)
    people = []
    for participant_id, group in groupby(rows, key=itemgetter("participant_id")):
        chunks = [row for row in group if row["text"] is not None]
        vectors = to_matrix(row["vector"] for row in chunks)
        people.append(
            ParticipantChunks(
                participant_id=participant_id,
                texts=tuple(row["text"] for row in chunks),
                vectors=vectors.reshape(len(chunks), dimension),
                tags=tuple(tuple(map(PHQ8Item.from_evidence_key, row["tags"])) for row in chunks) if has_tags else None,
                scores=tuple(_by_item(row["scores"]) for row in chunks) if has_scores else None,
            )
        )
    return people


def _chunk_records(index_id: int, participants: Sequence[ParticipantChunks]) -> Iterator[tuple[Any, ...]]:
    for person in participants:
        for ordinal, text in enumerate(person.texts):
            tags = None if person.tags is None else [tag.evidence_key for tag in person.tags[ordinal]]
            scores = None if person.scores is None else _by_key(person.scores[ordinal])
            yield index_id, person.participant_id, ordinal, text, short_hash(text), tags, _json(scores)


def _vector_records(
    index_id: int, ids: Sequence[int], participants: Sequence[ParticipantChunks]
) -> Iterator[tuple[Any, ...]]:
    places = ((person.participant_id, ordinal) for person in participants for ordinal in range(len(person.texts)))
    vectors = to_pgvector(row for person in participants for row in person.vectors)
    for chunk_id, place, vector in zip(ids, places, vectors, strict=True):
        yield chunk_id, index_id, *place, vector


def _json(document: Mapping[str, Any] | None) -> str | None:
    return None if document is None else json.dumps(document)


def _by_key(scores: Mapping[PHQ8Item, int | None]) -> dict[str, int | None]:
    return {item.evidence_key: score for item, score in scores.items()}


def _by_item(scores: Mapping[str, int | None]) -> dict[PHQ8Item, int | None]:
    return {item: scores[item.evidence_key] for item in PHQ8Item}
