"""Reference indexes: planned, published, listed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, NamedTuple

from schemas.values.interviews import TranscriptVariant
from stages.participants.split_names import training_name
from stages.texts.ids import short_hash
from store.database import Connection

PARTICIPANTS = "SELECT participant_id FROM reference_participant WHERE index_id = $1 ORDER BY participant_id"

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

UNLABELLED = """
SELECT participant_id FROM reference_participant WHERE index_id = $1 AND items IS NULL ORDER BY participant_id
"""

LABELS = "SELECT items FROM reference_participant WHERE index_id = $1 AND participant_id <> ALL($2::integer[])"

SIDECARS = """
SELECT bool_and(tags IS NOT NULL) AS tags, bool_and(scores IS NOT NULL) AS scores
FROM reference_chunk WHERE index_id = $1
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

IDENTITY: Final = (
    *("backend", "model", "dimension", "data_set", "split", "split_ids_hash", "variant"),
    *("chunk_size", "chunk_step", "min_evidence_chars"),
)
"""The fields of an IndexPlan that make its identity, with that of the evidence where there is any."""


@dataclass(frozen=True, kw_only=True)
class IndexPlan:
    """What an index is built from and with."""

    name: str
    data_set: str
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
    evidence: str | None = None
    """How the evidence of its participants was found, for scores by neighbours; None without evidence."""
    identity: str = field(init=False)
    """A hash over what makes two indexes of a name different. An index replaces none of another identity."""

    def __post_init__(self) -> None:
        names = IDENTITY if self.evidence is None else (*IDENTITY, "evidence")
        named = "\n".join(f"{name}={getattr(self, name)}" for name in names)
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

    @property
    def source(self) -> str:
        """The split that it was built of, as commands name it whatever other data sets have."""
        return f"{self.data_set}/{training_name(self.split)}"


PLANNED_COLUMNS = ", ".join(column.name for column in fields(IndexPlan))

PLAN = f"""
INSERT INTO reference_index (run_id, {PLANNED_COLUMNS})
VALUES ($1, {", ".join(f"${at}" for at in range(2, len(fields(IndexPlan)) + 2))}) RETURNING id
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


async def assessed_people(connection: Connection, index_id: int, data_set: str, numbers: Collection[int]) -> list[int]:
    """Those of an index who are these participants of a data set, ids in the index ascending.

    In an index of another data set they are whoever has the transcript of one of them, and the same numbers as long as
    nobody is stored there who is known to be somebody else.
    """
    rows = await connection.fetch(ASSESSED, index_id, data_set, list(numbers))
    return [row["participant_id"] for row in rows]


async def model_dtypes(connection: Connection, index_id: int) -> list[str]:
    """The number formats of an index's vectors, as far as they are known."""
    return list(await connection.fetchval("SELECT model_dtypes FROM reference_index WHERE id = $1", index_id) or ())


async def unlabelled(connection: Connection, index_id: int) -> list[int]:
    """The participants of an index without item scores, ids ascending."""
    return [row["participant_id"] for row in await connection.fetch(UNLABELLED, index_id)]


async def labels(connection: Connection, index_id: int, *, without: Collection[int]) -> list[dict[str, Any] | None]:
    """The item scores of the participants of an index by evidence key, without those of some."""
    return [row["items"] for row in await connection.fetch(LABELS, index_id, list(without))]


async def sidecars(connection: Connection, index_id: int) -> Sidecars:
    """Whether every chunk of an index has tags, and chunk scores."""
    row = await connection.fetchrow(SIDECARS, index_id)
    return Sidecars(bool(row["tags"]), bool(row["scores"]))


async def chunk_texts(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, str]:
    """The texts of chunks, by id."""
    rows = await connection.fetch("SELECT id, text FROM reference_chunk WHERE id = ANY($1::bigint[])", list(chunk_ids))
    return {row["id"]: row["text"] for row in rows}
