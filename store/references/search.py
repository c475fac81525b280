"""The search in a reference index: the chunks nearest to what a participant said, in one statement."""

from collections.abc import Collection, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from asyncpg import Record
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, ReferenceIndexMissingError
from schemas.values.participants import Neighbour, PHQ8Item, Reference
from stages.participants.score_reply import scores_by_item
from stages.ports import ScoreSource
from store.database import Connection, Database, to_pgvector
from store.references.references import labels

Found = TypeVar("Found", Reference, Neighbour)
Query: TypeAlias = tuple[PHQ8Item, NDArray[np.float32]]

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

NEAREST_EVIDENCE = """
SELECT q.ordinal - 1 AS query, n.participant_id, n.score, greatest(0, least(1, 1 - n.distance / 2)) AS similarity
FROM unnest($2::vector[], $3::text[]) WITH ORDINALITY AS q (vector, key, ordinal)
CROSS JOIN LATERAL (
    SELECT e.participant_id, (p.items ->> q.key)::integer AS score, e.vector <=> q.vector AS distance
    FROM reference_evidence AS e JOIN reference_participant AS p USING (index_id, participant_id)
    WHERE e.index_id = $1 AND e.item = q.key AND e.participant_id <> ALL($4::integer[])
      AND p.items ->> q.key IS NOT NULL
    ORDER BY distance, e.participant_id
    LIMIT $5
) AS n
ORDER BY q.ordinal, n.distance, n.participant_id
"""


class PostgresReferenceSearch:
    """The ports ReferenceSearch and EvidenceSearch over pgvector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def nearest(
        self,
        index_id: int,
        queries: Sequence[Query],
        *,
        limit: int,
        exclude_participants: Collection[int],
        tagged_only: bool = False,
        score_source: ScoreSource = "participant",
    ) -> list[tuple[Reference, ...]]:
        """See ReferenceSearch."""
        rest = (tagged_only, score_source == "chunk")
        return await self._search(NEAREST, index_id, queries, exclude_participants, limit, *rest, found=Reference)

    async def count_untagged(
        self, index_id: int, items: Sequence[PHQ8Item], *, exclude_participants: Collection[int]
    ) -> list[int]:
        """See ReferenceSearch."""
        keys = [item.evidence_key for item in items]
        rows = await self._database.with_retry(
            lambda connection: connection.fetch(COUNT_UNTAGGED, index_id, keys, list(exclude_participants))
        )
        return [row["count"] for row in rows]

    async def nearest_evidence(
        self,
        index_id: int,
        queries: Sequence[Query],
        *,
        limit: int,
        exclude_participants: Collection[int],
    ) -> list[tuple[Neighbour, ...]]:
        """See EvidenceSearch."""
        return await self._search(NEAREST_EVIDENCE, index_id, queries, exclude_participants, limit, found=Neighbour)

    async def item_scores(
        self, index_id: int, *, exclude_participants: Collection[int]
    ) -> dict[PHQ8Item, tuple[int, ...]]:
        """See EvidenceSearch."""
        found = await self._database.ask(labels, index_id)
        return scores_by_item(items for number, items in found.items() if number not in exclude_participants)

    async def _search(
        self,
        statement: str,
        index_id: int,
        queries: Sequence[Query],
        exclude: Collection[int],
        *rest: int,
        found: type[Found],
    ) -> list[tuple[Found, ...]]:
        if not queries:
            return []
        vectors, keys = to_pgvector(vector for _, vector in queries), [item.evidence_key for item, _ in queries]

        async def search(connection: Connection) -> list[Record]:
            await _refuse_unfit(connection, index_id, queries)
            async with connection.transaction():
                # A cached generic plan once stayed on a sequential scan for good.
                await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                rows: list[Record] = await connection.fetch(statement, index_id, vectors, keys, list(exclude), *rest)
            return rows

        of_queries: list[list[Found]] = [[] for _ in queries]
        for row in await self._database.with_retry(search):
            values = dict(row)
            of_queries[values.pop("query")].append(found(**values))
        return [tuple(of_query) for of_query in of_queries]


async def _refuse_unfit(connection: Connection, index_id: int, queries: Sequence[Query]) -> None:
    dimension = await connection.fetchval("SELECT dimension FROM reference_index WHERE id = $1", index_id)
    if dimension is None:
        raise ReferenceIndexMissingError(index_id)
    for _, vector in queries:
        if vector.shape[0] != dimension:
            raise EmbeddingDimensionMismatchError(expected=dimension, actual=vector.shape[0])
