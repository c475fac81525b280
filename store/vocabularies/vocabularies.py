"""Vocabularies of tags: imported whole, listed, looked up."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from store.database import Connection
from store.vocabularies.copying import BULK_SECONDS, copy_rows

if TYPE_CHECKING:
    from schemas.values.tags import Vocabulary

# Of two imports of one name at the same moment, the later one has to see the earlier one.
ONE_BY_ONE = "SELECT pg_advisory_xact_lock(hashtextextended('vocabulary ' || $1, 0))"

REPLACE = "UPDATE vocabulary SET replaced_at = now() WHERE name = $1 AND replaced_at IS NULL"

KEEP = "INSERT INTO vocabulary (name, tags, aliases, documents) VALUES ($1, $2, $3, $4) RETURNING id"

COLUMNS = """
id, name, tags, aliases, documents, model, model_digest, context_digest, dimension, similarity_digest,
sentence_backend, sentence_model, sentence_digest, imported_at, indexed_at
"""

CURRENT = f"SELECT {COLUMNS} FROM vocabulary WHERE replaced_at IS NULL ORDER BY name"

BY_NAME = f"SELECT {COLUMNS} FROM vocabulary WHERE replaced_at IS NULL AND name = $1"

USERS = """
SELECT DISTINCT run_id FROM job
WHERE status IN ('waiting', 'running', 'interrupted', 'paused')
  AND (inputs ->> 'vocabulary_id')::bigint IN (SELECT id FROM vocabulary WHERE name = $1)
ORDER BY run_id
"""

REACHING = "SELECT count(*), count(*) FILTER (WHERE count >= $2) AS reaching FROM tag WHERE vocabulary_id = $1"


@dataclass(frozen=True, kw_only=True)
class StoredVocabulary:
    """A vocabulary as it is stored."""

    id: int
    name: str
    tags: int
    aliases: int
    documents: int
    model: str | None
    """None until it has models, as the digests and the dimension."""
    model_digest: str | None
    context_digest: str | None
    dimension: int | None
    similarity_digest: str | None
    """None for models without spelling and meaning, as the embedder's columns."""
    sentence_backend: str | None
    sentence_model: str | None
    sentence_digest: str | None
    imported_at: datetime
    indexed_at: datetime | None


async def keep(connection: Connection, name: str, vocabulary: "Vocabulary") -> int:
    """Store a vocabulary, all or nothing, and replace the older one of its name. Its id.

    Jobs that were submitted with the older one keep it.
    """
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE, name)
        await connection.execute(REPLACE, name)
        counts = (len(vocabulary.tags), len(vocabulary.aliases), len(vocabulary.documents))
        vocabulary_id: int = await connection.fetchval(KEEP, name, *counts)
        columns = ("name", "category", "count", "nsfw_probability", "title")
        tags = (tuple(getattr(tag, column) for column in columns) for tag in vocabulary.tags)
        await copy_rows(connection, vocabulary_id, "tag", columns, tags)
        aliases = ((alias, tag) for alias, targets in vocabulary.aliases.items() for tag in targets)
        await copy_rows(connection, vocabulary_id, "tag_alias", ("alias", "tag"), aliases)
        documents = ((at, list(document.tags), document.weight) for at, document in enumerate(vocabulary.documents))
        await copy_rows(connection, vocabulary_id, "tag_document", ("ordinal", "tags", "weight"), documents)
    return vocabulary_id


async def current(connection: Connection) -> list[StoredVocabulary]:
    """The vocabularies that can be asked for, by name."""
    return [StoredVocabulary(**dict(row)) for row in await connection.fetch(CURRENT)]


async def by_name(connection: Connection, name: str) -> StoredVocabulary | None:
    """The current vocabulary of a name."""
    row = await connection.fetchrow(BY_NAME, name)
    return None if row is None else StoredVocabulary(**dict(row))


async def delete(connection: Connection, name: str) -> list[int]:
    """Delete every import of a name. Returns the runs whose unfinished jobs use one; then nothing is deleted."""
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE, name)
        users = [row["run_id"] for row in await connection.fetch(USERS, name)]
        if not users:
            await connection.execute("DELETE FROM vocabulary WHERE name = $1", name, timeout=BULK_SECONDS)
    return users


async def reaching(connection: Connection, vocabulary_id: int, count: int) -> tuple[int, int]:
    """The number of tags, and how many of them were used at least so often."""
    tags, used = await connection.fetchrow(REACHING, vocabulary_id, count)
    return tags, used
