"""Reference indexes: planned, published, listed, and searched for the chunks nearest to what a participant said."""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import numpy as np
from asyncpg import Record
from numpy.typing import NDArray

from schemas.errors import EmbeddingArtifactMismatchError, EmbeddingDimensionMismatchError, FailureCategory
from schemas.values.participants import Chunk, ChunkScoresMeta, Neighbour, PartialBuild, PHQ8Item, Reference
from schemas.values.runs import IndexIdentity, IndexSource
from stages.participants.artifacts import LoadedArtifact
from stages.participants.score_reply import scores_by_item
from stages.participants.splits import training_name
from stages.ports import ScoreSource
from stages.texts.characters import short_hash
from store import rows
from store.database import BULK_SECONDS, Connection, Database, Lock, hold, to_pgvector

ASSESSED = """
SELECT r.participant_id
FROM reference_participant AS r JOIN reference_index AS i ON i.id = r.index_id
LEFT JOIN participant AS p ON (p.data_set, p.id) = (i.data_set, r.participant_id)
WHERE r.index_id = $1 AND (
    (r.participant_id = ANY($3::integer[]) AND (i.data_set = $2 OR p.id IS NULL))
    OR (i.data_set <> $2 AND p.transcript_hash IN (
        SELECT transcript_hash FROM participant WHERE data_set = $2 AND id = ANY($3::integer[])))
)
ORDER BY r.participant_id
"""

SIDECARS = """
SELECT bool_and(tags IS NOT NULL) AS tags, bool_and(scores IS NOT NULL) AS scores
FROM reference_chunk WHERE index_id = $1
"""

REPLACE = """
UPDATE reference_index SET replaced_at = now()
WHERE (name, identity) = (SELECT name, identity FROM reference_index WHERE id = $1) AND id <> $1
  AND published_at IS NOT NULL AND replaced_at IS NULL
"""


def identity(index: IndexSource, evidence: str | None = None) -> str:
    """A hash over what makes two indexes of a name different: what each is built of and with, and its evidence where
    there is any. An index replaces none of another identity."""
    parts = index.model_dump(exclude={"name", "split_csv_hash"}) | ({} if evidence is None else {"evidence": evidence})
    return short_hash("\n".join(f"{name}={value}" for name, value in parts.items()))


class StoredIndex(IndexIdentity):
    """An index as it is stored."""

    evidence: str | None
    """How the evidence of its participants was found, for scores by neighbours; None without evidence."""
    run_id: int | None
    """None for an index that was imported from files, or whose run is deleted."""
    model_dtypes: list[str]
    """The number formats of its vectors, as far as they are known."""
    created_at: datetime
    published_at: datetime | None
    replaced_at: datetime | None
    chunk_scores_meta: ChunkScoresMeta | None
    """Who scored the chunks; None without chunk scores, and where their files did not say."""
    partial: PartialBuild | None
    """What was left out; None for a complete index."""
    identity: str

    @property
    def source(self) -> str:
        """The split that it was built of, as commands name it whatever other data sets have."""
        return f"{self.data_set}/{training_name(self.split)}"


PLANNED_COLUMNS = ", ".join([*IndexSource.model_fields, "evidence", "identity"])

CURRENT = (
    f"SELECT {rows.columns_of(StoredIndex)} FROM reference_index "
    "WHERE published_at IS NOT NULL AND replaced_at IS NULL ORDER BY name, id"
)


async def plan(connection: Connection, run_id: int | None, index: IndexSource, evidence: str | None = None) -> int:
    """Store an index that is not published yet; `run_id` is None for an imported one. Returns its id. What was planned
    by runs that are deleted goes."""
    await rows.delete(connection, "reference_index", run_id=None, published_at=None)
    values = dict(index) | {"evidence": evidence, "identity": identity(index, evidence)}
    return await rows.insert(connection, "reference_index", run_id=run_id, **values)


async def current(connection: Connection) -> list[StoredIndex]:
    """The indexes that can be searched, by name."""
    return [StoredIndex(**row) for row in await connection.fetch(CURRENT)]


async def make_current(connection: Connection, index_id: int, name: str, **columns: Any) -> None:
    """Publish an index whose rows are all stored, with the columns that are known now, and replace the older one of its
    name and identity."""
    # Of two that are published at the same moment, the later one has to see the earlier.
    await hold(connection, Lock.REFERENCE_INDEX, name)
    await connection.execute(REPLACE, index_id)
    await rows.update(connection, "reference_index", {"id": index_id}, published_at=rows.NOW, **columns)


async def labels(connection: Connection, index_id: int) -> dict[int, dict[str, Any] | None]:
    """Everybody whose chunks an index has, ids ascending, with the item scores by evidence key; None without any."""
    key = "participant_id"
    return await rows.pairs(connection, "reference_participant", key, "items", order=key, index_id=index_id)


async def assessed_people(connection: Connection, index_id: int, data_set: str, numbers: Collection[int]) -> list[int]:
    """Those of an index who are these participants of a data set, ids in the index ascending. In an index of another
    data set they are whoever has the transcript of one of them, and the same numbers as long as nobody is stored there
    who is known to be somebody else."""
    return [row["participant_id"] for row in await connection.fetch(ASSESSED, index_id, data_set, list(numbers))]


async def model_dtypes(connection: Connection, index_id: int) -> list[str]:
    """The number formats of an index's vectors, as far as they are known."""
    return list(await rows.value(connection, "reference_index", "model_dtypes", id=index_id) or ())


async def sidecars(connection: Connection, index_id: int) -> tuple[bool, bool]:
    """Whether every chunk of an index has tags, and chunk scores."""
    row = await connection.fetchrow(SIDECARS, index_id)
    return bool(row["tags"]), bool(row["scores"])


async def chunk_texts(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, str]:
    """The texts of chunks, by id."""
    return await rows.pairs(connection, "reference_chunk", "id", "text", id=list(chunk_ids))


# The scores are frozen into the index, as they are in one that a run builds.
KEEP_PARTICIPANTS = """
INSERT INTO reference_participant (index_id, participant_id, items)
SELECT $1, n.participant_id, p.items
FROM unnest($2::integer[]) AS n (participant_id)
LEFT JOIN participant AS p ON (p.data_set, p.id) = ($3, n.participant_id)
"""


async def keep_imported(connection: Connection, artifact: LoadedArtifact) -> int:
    """Store and publish an index with everything in it, all or nothing, and replace the older one of its name and
    identity. Its id. The item scores of its participants are those that are imported now."""
    index, chunks = artifact.source, artifact.chunks
    async with connection.transaction():
        index_id = await plan(connection, None, index)
        await connection.execute(KEEP_PARTICIPANTS, index_id, artifact.participants, index.data_set)
        await connection.copy_records_to_table(
            "reference_chunk",
            columns=("index_id", *Chunk.model_fields),
            records=((index_id, *_chunk_values(chunk)) for chunk in chunks),
            timeout=BULK_SECONDS,
        )
        order = "participant_id, ordinal"
        ids = await rows.values(connection, "reference_chunk", "id", order=order, index_id=index_id)
        embedded = zip(ids, chunks, to_pgvector(artifact.vectors), strict=True)
        await connection.copy_records_to_table(
            "reference_vector",
            columns=("chunk_id", "index_id", "participant_id", "ordinal", "vector"),
            records=(
                (chunk_id, index_id, chunk.participant_id, chunk.ordinal, vector)
                for chunk_id, chunk, vector in embedded
            ),
            timeout=BULK_SECONDS,
        )
        scored, built = (one and one.model_dump_json() for one in (artifact.chunk_scores_meta, artifact.partial))
        counts = {"participants": len(artifact.participants), "chunks": len(ids), "model_dtypes": []}
        await make_current(connection, index_id, index.name, **counts, chunk_scores_meta=scored, partial=built)
    return index_id


def _chunk_values(chunk: Chunk) -> Iterator[Any]:
    """The columns of a chunk, whose documents are JSON."""
    return (json.dumps(value) if isinstance(value, dict) else value for value in chunk.model_dump().values())


# A run whose `publish` has failed waits for a person: another job would fail in the same way. So does a run with a
# cancelled job. Looked for every second: each part is read for one run after the other, by an index.
DUE = """
SELECT r.id AS run_id, j.job_id
FROM run AS r
JOIN LATERAL (SELECT participants FROM reference_index WHERE run_id = r.id ORDER BY id DESC LIMIT 1) AS i ON true
JOIN LATERAL (
    SELECT min(id) FILTER (WHERE status = 'succeeded') AS job_id,
           count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           bool_and(status IN ('succeeded', 'failed', 'poisoned')) AS is_ended
    FROM job WHERE run_id = r.id
) AS j ON true
WHERE r.kind = 'index' AND (r.request ->> 'allow_partial')::boolean AND ($1::bigint IS NULL OR r.id = $1)
  AND j.is_ended AND j.succeeded > coalesce(i.participants, 0)
  AND NOT EXISTS (
      SELECT FROM job AS f CROSS JOIN LATERAL (
          SELECT FROM stage_run WHERE job_id = f.id AND stage = 'publish' AND status = 'failed' OFFSET 0
      ) AS s
      WHERE f.run_id = r.id AND f.status IN ('failed', 'poisoned')
  )
"""


async def is_publication_due(connection: Connection, run_id: int) -> bool:
    """Whether every job of a run has finished and a part of its index is about to be published."""
    return bool(await connection.fetchval(f"SELECT EXISTS ({DUE})", run_id))


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
        self, index_id: int, queries: Sequence[Query], *, limit: int, exclude_participants: Collection[int]
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


def index_missing(index_id: int) -> EmbeddingArtifactMismatchError:
    """For a reference index that is no longer stored."""
    return EmbeddingArtifactMismatchError(
        f"Reference index {index_id} is not stored; build it again and submit again.",
        FailureCategory.REFERENCE_ARTIFACT_MISSING,
    )


async def _refuse_unfit(connection: Connection, index_id: int, queries: Sequence[Query]) -> None:
    dimension = await connection.fetchval("SELECT dimension FROM reference_index WHERE id = $1", index_id)
    if dimension is None:
        raise index_missing(index_id)
    for _, vector in queries:
        if vector.shape[0] != dimension:
            raise EmbeddingDimensionMismatchError(expected=dimension, actual=vector.shape[0])
