"""Vocabularies of tags: imported whole, listed, looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.errors import VocabularyMissingError
from schemas.values.tags import Lexicon, Tag, TagDocument, Vocabulary
from store.database import Connection, Database
from store.vocabularies.copying import BULK_SECONDS, copy_rows

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

TAGS = "SELECT name, category, count, nsfw_probability, title FROM tag WHERE vocabulary_id = $1 ORDER BY id"

ALIASES = """
SELECT alias, array_agg(tag ORDER BY tag COLLATE "C") AS tags FROM tag_alias WHERE vocabulary_id = $1
GROUP BY alias ORDER BY alias COLLATE "C"
"""

DOCUMENTS = "SELECT tags, weight FROM tag_document WHERE vocabulary_id = $1 ORDER BY ordinal"

PART = """
SELECT name, category, count, nsfw_probability, title FROM tag
WHERE vocabulary_id = $1 AND ($2 = '' OR strpos(name, $2) > 0 OR strpos(title, $2) > 0)
ORDER BY count DESC NULLS LAST, name COLLATE "C" LIMIT $3 OFFSET $4
"""

FOUND = (
    "SELECT count(*) FROM tag WHERE vocabulary_id = $1 AND ($2 = '' OR strpos(name, $2) > 0 OR strpos(title, $2) > 0)"
)

USERS = """
SELECT DISTINCT run_id FROM job
WHERE status IN ('waiting', 'running', 'interrupted', 'paused')
  AND (inputs ->> 'vocabulary_id')::bigint IN (SELECT id FROM vocabulary WHERE name = $1)
ORDER BY run_id
"""

# A row without a tag and an alias shows that the vocabulary exists.
LOOK_UP = """
WITH alias AS (
    SELECT alias, tag FROM tag_alias WHERE vocabulary_id = $1 AND alias = ANY($2::text[])
)
SELECT NULL AS alias, NULL AS target, NULL AS name, NULL AS category, NULL::integer AS count,
       NULL::double precision AS nsfw_probability, NULL AS title
FROM vocabulary WHERE id = $1
UNION ALL
SELECT alias, tag, NULL, NULL, NULL, NULL, NULL FROM alias
UNION ALL
SELECT NULL, NULL, t.name, t.category, t.count, t.nsfw_probability, t.title FROM tag AS t
WHERE t.vocabulary_id = $1 AND t.name IN (SELECT unnest($2::text[]) UNION SELECT tag FROM alias)
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


async def keep(connection: Connection, name: str, vocabulary: Vocabulary) -> int:
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


async def tags_part(
    connection: Connection, vocabulary_id: int, *, search: str, limit: int, offset: int
) -> tuple[list[Tag], int]:
    """A part of the tags, the most used first; with `search` of those with it in their name. And their number."""
    rows = await connection.fetch(PART, vocabulary_id, search, limit, offset)
    return [Tag(**dict(row)) for row in rows], await connection.fetchval(FOUND, vocabulary_id, search)


async def delete(connection: Connection, name: str) -> list[int]:
    """Delete every import of a name. Returns the runs whose unfinished jobs use one; then nothing is deleted."""
    async with connection.transaction():
        await connection.execute(ONE_BY_ONE, name)
        users = [row["run_id"] for row in await connection.fetch(USERS, name)]
        if not users:
            await connection.execute("DELETE FROM vocabulary WHERE name = $1", name, timeout=BULK_SECONDS)
    return users


async def content(connection: Connection, vocabulary_id: int) -> Vocabulary:
    """Everything that was imported, in the order of its files. Raises VocabularyMissingError."""
    if not await connection.fetchval("SELECT true FROM vocabulary WHERE id = $1", vocabulary_id):
        raise VocabularyMissingError(vocabulary_id)
    tags = await connection.fetch(TAGS, vocabulary_id, timeout=BULK_SECONDS)
    aliases = await connection.fetch(ALIASES, vocabulary_id, timeout=BULK_SECONDS)
    documents = await connection.fetch(DOCUMENTS, vocabulary_id, timeout=BULK_SECONDS)
    return Vocabulary(
        tags=tuple(Tag(**dict(row)) for row in tags),
        aliases={row["alias"]: tuple(row["tags"]) for row in aliases},
        documents=tuple(TagDocument(tags=tuple(row["tags"]), weight=row["weight"]) for row in documents),
    )


async def reaching(connection: Connection, vocabulary_id: int, count: int) -> tuple[int, int]:
    """The number of tags, and how many of them were used at least so often."""
    tags, used = await connection.fetchrow(REACHING, vocabulary_id, count)
    return tags, used


class PostgresVocabularies:
    """The port TagLexicon over Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look_up(self, vocabulary_id: int, tokens: Sequence[str]) -> Lexicon:
        """See TagLexicon."""
        if not tokens:
            return Lexicon(tags={}, aliases={})

        async def fetch(connection: Connection) -> list[Any]:
            found: list[Any] = await connection.fetch(LOOK_UP, vocabulary_id, list(tokens))
            return found

        rows = await self._database.with_retry(fetch)
        if not rows:
            raise VocabularyMissingError(vocabulary_id)
        tags = {
            row["name"]: Tag(**{name: row[name] for name in Tag.model_fields})
            for row in rows
            if row["name"] is not None
        }
        aliases: dict[str, set[str]] = {}
        for row in rows:
            if row["alias"] is not None:
                aliases.setdefault(row["alias"], set()).add(row["target"])
        return Lexicon(
            tags={name: tags[name] for name in sorted(tags)},
            aliases={alias: tuple(sorted(aliases[alias])) for alias in sorted(aliases)},
        )
