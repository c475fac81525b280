"""Reference indexes: planned, published whole, searched."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from schemas.errors import EmbeddingArtifactMismatchError, EmbeddingDimensionMismatchError
from schemas.values.participants import Reference
from schemas.values.phq8 import PHQ8Item
from store.database import Connection, Database

PLAN = """
INSERT INTO reference_index
    (name, run_id, split, split_csv_hash, split_ids_hash, backend, model, dimension, chunk_size, chunk_step,
     min_evidence_chars)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
RETURNING id
"""

COLUMNS = """
id, name, run_id, split, split_csv_hash, split_ids_hash, backend, model, model_digest, dimension, chunk_size,
chunk_step, min_evidence_chars, participants, chunks, created_at, published_at, replaced_at
"""

CURRENT = f"SELECT {COLUMNS} FROM reference_index WHERE published_at IS NOT NULL AND replaced_at IS NULL ORDER BY name"

BY_RUN = f"SELECT {COLUMNS} FROM reference_index WHERE run_id = $1"

UNFINISHED = "SELECT count(*) FROM job WHERE run_id = $1 AND status <> 'succeeded'"

DIGESTS = """
SELECT DISTINCT a.output ->> 'model_digest'
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'embed' AND a.outcome = 'succeeded'
"""

# The chunks and vectors of a run lie in its attempts: publishing copies them inside the database.
PUBLISH_CHUNKS = """
WITH current AS (
    SELECT j.id AS job_id, j.subject::integer AS participant_id, s.stage, a.id AS attempt_id, a.output
    FROM job AS j
    JOIN stage_run AS s ON s.job_id = j.id AND s.status = 'done'
    JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
    WHERE j.run_id = $2
), text AS (
    SELECT c.job_id, c.participant_id, t.ordinal - 1 AS ordinal, t.chunk ->> 'text' AS text,
           t.chunk ->> 'chunk_hash' AS chunk_hash
    FROM current AS c, jsonb_array_elements(c.output -> 'chunks') WITH ORDINALITY AS t (chunk, ordinal)
    WHERE c.stage = 'chunk'
), chunk AS (
    INSERT INTO reference_chunk (index_id, participant_id, ordinal, text, chunk_hash)
    SELECT $1, participant_id, ordinal, text, chunk_hash FROM text ORDER BY participant_id, ordinal
    RETURNING id, participant_id, ordinal
), stored AS (
    INSERT INTO reference_vector (chunk_id, index_id, participant_id, ordinal, vector)
    SELECT k.id, $1, k.participant_id, k.ordinal, v.vector
    FROM chunk AS k
    JOIN current AS c ON c.participant_id = k.participant_id AND c.stage = 'embed'
    JOIN stage_vector AS v ON v.attempt_id = c.attempt_id AND v.ordinal = k.ordinal
    RETURNING chunk_id
)
SELECT (SELECT count(*) FROM chunk) AS chunks, (SELECT count(*) FROM stored) AS vectors
"""

PUBLISH_PARTICIPANTS = """
INSERT INTO reference_participant (index_id, participant_id, items)
SELECT $1, j.subject::integer, nullif(j.inputs -> 'items', 'null') FROM job AS j WHERE j.run_id = $2
"""

REPLACE = """
UPDATE reference_index SET replaced_at = now()
WHERE name = $2 AND id <> $1 AND published_at IS NOT NULL AND replaced_at IS NULL
"""

PUBLISH = """
UPDATE reference_index SET published_at = now(), model_digest = $2, chunks = $3,
       participants = (SELECT count(*) FROM reference_participant WHERE index_id = $1)
WHERE id = $1
"""

# One statement for all items: similarity is (1 + cosine) / 2, and <=> is 1 - cosine.
NEAREST = """
SELECT q.ordinal - 1 AS query, n.chunk_id, n.participant_id, n.ordinal,
       k.chunk_hash, char_length(k.text) AS chunk_chars,
       greatest(0, least(1, 1 - n.distance / 2)) AS similarity, (p.items ->> q.key)::integer AS score
FROM unnest($2::vector[], $3::text[]) WITH ORDINALITY AS q (vector, key, ordinal)
CROSS JOIN LATERAL (
    SELECT v.chunk_id, v.participant_id, v.ordinal, v.vector <=> q.vector AS distance
    FROM reference_vector AS v
    WHERE v.index_id = $1 AND v.participant_id <> $4
    ORDER BY v.vector <=> q.vector, v.participant_id, v.ordinal
    LIMIT $5
) AS n
JOIN reference_chunk AS k ON k.id = n.chunk_id
LEFT JOIN reference_participant AS p ON p.index_id = $1 AND p.participant_id = n.participant_id
ORDER BY q.ordinal, n.distance, n.participant_id, n.ordinal
"""


@dataclass(frozen=True, kw_only=True)
class IndexPlan:
    """What an index is built from and with."""

    name: str
    split: str
    split_csv_hash: str
    split_ids_hash: str
    backend: str
    model: str
    dimension: int
    chunk_size: int
    chunk_step: int
    min_evidence_chars: int


@dataclass(frozen=True, kw_only=True)
class StoredIndex(IndexPlan):
    """An index as it is stored."""

    id: int
    run_id: int
    model_digest: str | None
    participants: int | None
    chunks: int | None
    created_at: datetime
    published_at: datetime | None
    replaced_at: datetime | None


class Published(NamedTuple):
    """What `publish` did."""

    is_published: bool
    unfinished_jobs: int
    """Jobs of the run that have to succeed first; 0 when it was published."""


async def plan(connection: Connection, run_id: int, index: IndexPlan) -> int:
    """Store an index that nobody sees yet. Its id."""
    index_id: int = await connection.fetchval(
        PLAN,
        index.name,
        run_id,
        index.split,
        index.split_csv_hash,
        index.split_ids_hash,
        index.backend,
        index.model,
        index.dimension,
        index.chunk_size,
        index.chunk_step,
        index.min_evidence_chars,
    )
    return index_id


async def current(connection: Connection) -> list[StoredIndex]:
    """The indexes that can be searched, by name."""
    return [StoredIndex(**dict(row)) for row in await connection.fetch(CURRENT)]


async def by_run(connection: Connection, run_id: int) -> StoredIndex | None:
    """The index that a run builds or built."""
    row = await connection.fetchrow(BY_RUN, run_id)
    return None if row is None else StoredIndex(**dict(row))


async def publish_when_complete(connection: Connection, run_id: int) -> Published:
    """Publish the index of a run if every one of its jobs has succeeded, and replace the older one of its name.

    Called in the transaction that ends a job: the row lock on the index lets one job after the other look, so that
    exactly the last one publishes. Raises EmbeddingArtifactMismatchError when the jobs used different weights.
    """
    index = await connection.fetchrow(
        "SELECT id, name, published_at FROM reference_index WHERE run_id = $1 FOR UPDATE", run_id
    )
    unfinished: int = await connection.fetchval(UNFINISHED, run_id)
    if unfinished or index["published_at"] is not None:
        return Published(False, unfinished)
    digests = [row[0] for row in await connection.fetch(DIGESTS, run_id)]
    if len(digests) != 1:
        raise EmbeddingArtifactMismatchError(
            f"The jobs of run r{run_id} embedded with {len(digests)} different weights; build the index again with "
            "one version of the model on every worker."
        )
    await connection.execute(PUBLISH_PARTICIPANTS, index["id"], run_id)
    counts = await connection.fetchrow(PUBLISH_CHUNKS, index["id"], run_id)
    if counts["chunks"] != counts["vectors"] or not counts["chunks"]:
        raise EmbeddingArtifactMismatchError(
            f"Run r{run_id} has {counts['chunks']} chunks and {counts['vectors']} vectors; nothing was published."
        )
    await connection.execute(REPLACE, index["id"], index["name"])
    await connection.execute(PUBLISH, index["id"], digests[0], counts["chunks"])
    return Published(True, 0)


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
        exclude_participant: int,
    ) -> list[tuple[Reference, ...]]:
        """See ReferenceSearch."""
        if not queries:
            return []

        async def search(connection: Connection) -> list[tuple[Reference, ...]]:
            dimension = await connection.fetchval("SELECT dimension FROM reference_index WHERE id = $1", index_id)
            for _, vector in queries:
                if vector.shape[0] != dimension:
                    raise EmbeddingDimensionMismatchError(expected=dimension, actual=vector.shape[0])
            async with connection.transaction():
                # A cached generic plan once stayed on a sequential scan for good.
                await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                rows = await connection.fetch(
                    NEAREST,
                    index_id,
                    [Vector(vector) for _, vector in queries],
                    [item.evidence_key for item, _ in queries],
                    exclude_participant,
                    limit,
                )
            found: list[list[Reference]] = [[] for _ in queries]
            for row in rows:
                found[row["query"]].append(
                    Reference(
                        chunk_id=row["chunk_id"],
                        participant_id=row["participant_id"],
                        ordinal=row["ordinal"],
                        similarity=row["similarity"],
                        score=row["score"],
                        chunk_hash=row["chunk_hash"],
                        chunk_chars=row["chunk_chars"],
                    )
                )
            return [tuple(references) for references in found]

        return await self._database.steadily(search)
