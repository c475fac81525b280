"""Reference indexes: planned, imported, searched."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, ReferenceIndexMissingError
from schemas.values.artifacts import ParticipantChunks
from schemas.values.interviews import TranscriptVariant
from schemas.values.participants import Reference
from schemas.values.phq8 import PHQ8Item
from stages.ports import ScoreSource
from stages.texts.hashes import short_hash
from store.database import Connection, Database
from store.vectors import to_matrix, to_pgvector

_BULK_SECONDS = 600.0
"""For the statements that carry a whole index."""

DESCRIBE = "UPDATE reference_index SET artifact_meta = $2, chunk_scores_meta = $3, partial = $4 WHERE id = $1"

# The scores are frozen into the index, as they are in one that a run builds.
KEEP_PARTICIPANTS = """
INSERT INTO reference_participant (index_id, participant_id, items)
SELECT $1, n.participant_id, p.items
FROM unnest($2::integer[]) AS n (participant_id) LEFT JOIN participant AS p ON p.id = n.participant_id
"""

PARTICIPANTS = "SELECT participant_id FROM reference_participant WHERE index_id = $1 ORDER BY participant_id"

UNLABELLED = """
SELECT participant_id FROM reference_participant WHERE index_id = $1 AND items IS NULL ORDER BY participant_id
"""

CHUNK_IDS = "SELECT id FROM reference_chunk WHERE index_id = $1 ORDER BY participant_id, ordinal"

SIDECARS = """
SELECT bool_and(tags IS NOT NULL) AS tags, bool_and(scores IS NOT NULL) AS scores
FROM reference_chunk WHERE index_id = $1
"""

CONTENT = """
SELECT p.participant_id, k.text, k.tags, k.scores, v.vector
FROM reference_participant AS p
LEFT JOIN reference_chunk AS k ON k.index_id = p.index_id AND k.participant_id = p.participant_id
LEFT JOIN reference_vector AS v ON v.chunk_id = k.id
WHERE p.index_id = $1 ORDER BY p.participant_id, k.ordinal
"""

# Of two indexes of one name and identity that are published at the same moment, the later one has to see the earlier.
ONE_BY_ONE = "SELECT pg_advisory_xact_lock(hashtextextended('reference_index ' || $1, 0))"

REPLACE = """
UPDATE reference_index SET replaced_at = now()
WHERE (name, identity) = (SELECT name, identity FROM reference_index WHERE id = $1) AND id <> $1
  AND published_at IS NOT NULL AND replaced_at IS NULL
"""

PUBLISH = """
UPDATE reference_index SET published_at = now(), model_digest = $2, chunks = $3, model_dtypes = $4,
       participants = (SELECT count(*) FROM reference_participant WHERE index_id = $1)
WHERE id = $1
"""

# One statement for all items: similarity is (1 + cosine) / 2, and <=> is 1 - cosine.
NEAREST = """
SELECT q.ordinal - 1 AS query, n.chunk_id, n.participant_id, n.ordinal,
       k.chunk_hash, char_length(k.text) AS chunk_chars,
       greatest(0, least(1, 1 - n.distance / 2)) AS similarity,
       ((CASE WHEN $7 THEN k.scores ELSE p.items END) ->> q.key)::integer AS score
FROM unnest($2::vector[], $3::text[]) WITH ORDINALITY AS q (vector, key, ordinal)
CROSS JOIN LATERAL (
    SELECT v.chunk_id, v.participant_id, v.ordinal, v.vector <=> q.vector AS distance
    FROM reference_vector AS v
    WHERE v.index_id = $1 AND v.participant_id <> ALL($4::integer[])
      AND (NOT $6 OR EXISTS (SELECT FROM reference_chunk AS t WHERE t.id = v.chunk_id AND q.key = ANY(t.tags)))
    ORDER BY v.vector <=> q.vector, v.participant_id, v.ordinal
    LIMIT $5
) AS n
JOIN reference_chunk AS k ON k.id = n.chunk_id
LEFT JOIN reference_participant AS p ON p.index_id = $1 AND p.participant_id = n.participant_id
ORDER BY q.ordinal, n.distance, n.participant_id, n.ordinal
"""

COUNT_UNTAGGED = """
SELECT count(t.id)
FROM unnest($2::text[]) WITH ORDINALITY AS q (key, ordinal)
LEFT JOIN reference_chunk AS t
    ON t.index_id = $1 AND t.participant_id <> ALL($3::integer[]) AND (q.key = ANY(t.tags)) IS NOT TRUE
GROUP BY q.ordinal ORDER BY q.ordinal
"""


IDENTITY: Final = (
    *("backend", "model", "dimension", "split", "split_ids_hash", "variant"),
    *("chunk_size", "chunk_step", "min_evidence_chars"),
)
"""The fields of an IndexPlan that make its identity."""


@dataclass(frozen=True, kw_only=True)
class IndexPlan:
    """What an index is built from and with."""

    name: str
    split: str
    split_csv_hash: str | None
    """None where the files of an imported index do not state it."""
    split_ids_hash: str
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    """Of the transcripts."""
    backend: str
    model: str
    dimension: int
    chunk_size: int
    chunk_step: int
    min_evidence_chars: int
    identity: str = field(init=False)
    """A hash over what makes two indexes of a name different. An index replaces none of another identity."""

    def __post_init__(self) -> None:
        named = "\n".join(f"{name}={getattr(self, name)}" for name in IDENTITY)
        object.__setattr__(self, "identity", short_hash(named))


@dataclass(frozen=True, kw_only=True)
class StoredIndex(IndexPlan):
    """An index as it is stored."""

    id: int
    run_id: int | None
    """None for an index that was imported from files, or whose run is deleted."""
    model_digest: str | None
    model_dtypes: list[str]
    """The number formats of its vectors, as far as they are known."""
    participants: int | None
    chunks: int | None
    created_at: datetime
    published_at: datetime | None
    replaced_at: datetime | None
    artifact_meta: dict[str, Any] | None
    """The description that an imported index came with."""
    chunk_scores_meta: dict[str, Any] | None
    partial: dict[str, Any] | None
    """What was left out; None for a complete index."""


PLANNED_COLUMNS = ", ".join(column.name for column in fields(IndexPlan))

PLAN = f"""
INSERT INTO reference_index (run_id, {PLANNED_COLUMNS})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id
"""

COLUMNS = ", ".join(column.name for column in fields(StoredIndex) if column.init)

CURRENT = (
    f"SELECT {COLUMNS} FROM reference_index WHERE published_at IS NOT NULL AND replaced_at IS NULL ORDER BY name, id"
)


def stored_index(row: Mapping[str, Any]) -> StoredIndex:
    """The index of a row of COLUMNS."""
    return StoredIndex(**{**row, "variant": TranscriptVariant(row["variant"])})


class Sidecars(NamedTuple):
    """What the chunks of an index carry beside text and vector."""

    has_tags: bool
    has_scores: bool


async def plan(connection: Connection, run_id: int | None, index: IndexPlan) -> int:
    """Store an index that is not published yet; `run_id` is None for an imported one. Returns its id."""
    values = (getattr(index, column.name) for column in fields(IndexPlan))
    index_id: int = await connection.fetchval(PLAN, run_id, *values)
    return index_id


async def current(connection: Connection) -> list[StoredIndex]:
    """The indexes that can be searched, by name."""
    return [stored_index(row) for row in await connection.fetch(CURRENT)]


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
        await connection.execute(KEEP_PARTICIPANTS, index_id, [person.participant_id for person in participants])
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


async def make_current(
    connection: Connection,
    index_id: int,
    name: str,
    model_digest: str | None,
    chunks: int,
    *,
    model_dtypes: Sequence[str] = (),
) -> None:
    """Publish an index whose rows are all stored, and replace the older one of its name and identity."""
    await connection.execute(ONE_BY_ONE, name)
    await connection.execute(REPLACE, index_id)
    await connection.execute(PUBLISH, index_id, model_digest, chunks, list(model_dtypes))


async def participants(connection: Connection, index_id: int) -> list[int]:
    """Everybody whose chunks an index has, ids ascending."""
    return [row["participant_id"] for row in await connection.fetch(PARTICIPANTS, index_id)]


async def model_dtypes(connection: Connection, index_id: int) -> list[str]:
    """The number formats of an index's vectors, as far as they are known."""
    return list(await connection.fetchval("SELECT model_dtypes FROM reference_index WHERE id = $1", index_id) or ())


async def unlabelled(connection: Connection, index_id: int) -> list[int]:
    """The participants of an index without item scores, ids ascending."""
    return [row["participant_id"] for row in await connection.fetch(UNLABELLED, index_id)]


async def content(connection: Connection, index_id: int) -> list[ParticipantChunks]:
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


async def sidecars(connection: Connection, index_id: int) -> Sidecars:
    """Whether every chunk of an index has tags, and chunk scores."""
    row = await connection.fetchrow(SIDECARS, index_id)
    return Sidecars(bool(row["tags"]), bool(row["scores"]))


async def chunk_texts(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, str]:
    """The texts of chunks, by id."""
    rows = await connection.fetch("SELECT id, text FROM reference_chunk WHERE id = ANY($1::bigint[])", list(chunk_ids))
    return {row["id"]: row["text"] for row in rows}


class PostgresReferenceSearch:
    """The port ReferenceSearch over pgvector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def nearest(
        self,
        index_id: int,
        queries: Sequence[tuple[PHQ8Item, NDArray[np.float32]]],
        *,
        limit: int,
        exclude_participants: Collection[int],
        tagged_only: bool = False,
        score_source: ScoreSource = "participant",
    ) -> list[tuple[Reference, ...]]:
        """See ReferenceSearch."""
        if not queries:
            return []

        async def search(connection: Connection) -> list[tuple[Reference, ...]]:
            dimension = await connection.fetchval("SELECT dimension FROM reference_index WHERE id = $1", index_id)
            if dimension is None:
                raise ReferenceIndexMissingError(index_id)
            for _, vector in queries:
                if vector.shape[0] != dimension:
                    raise EmbeddingDimensionMismatchError(expected=dimension, actual=vector.shape[0])
            async with connection.transaction():
                # A cached generic plan once stayed on a sequential scan for good.
                await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                rows = await connection.fetch(
                    NEAREST,
                    index_id,
                    to_pgvector(vector for _, vector in queries),
                    [item.evidence_key for item, _ in queries],
                    list(exclude_participants),
                    limit,
                    tagged_only,
                    score_source == "chunk",
                )
            found: list[list[Reference]] = [[] for _ in queries]
            for row in rows:
                values = dict(row)
                found[values.pop("query")].append(Reference(**values))
            return [tuple(references) for references in found]

        return await self._database.with_retry(search)

    async def count_untagged(
        self, index_id: int, items: Sequence[PHQ8Item], *, exclude_participants: Collection[int]
    ) -> list[int]:
        """See ReferenceSearch."""
        keys = [item.evidence_key for item in items]
        rows = await self._database.with_retry(
            lambda connection: connection.fetch(COUNT_UNTAGGED, index_id, keys, list(exclude_participants))
        )
        return [row["count"] for row in rows]


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
