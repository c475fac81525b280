"""The tags, aliases and documents of vocabularies."""

from collections.abc import Sequence
from typing import Any

from schemas.errors import VocabularyMissingError
from schemas.values.tags import Lexicon, Tag, TagDocument, Vocabulary
from store.database import Connection, Database
from store.vocabularies.copying import BULK_SECONDS

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


async def tags_part(
    connection: Connection, vocabulary_id: int, *, search: str, limit: int, offset: int
) -> tuple[list[Tag], int]:
    """A part of the tags, the most used first; with `search` of those with it in their name. And their number."""
    rows = await connection.fetch(PART, vocabulary_id, search, limit, offset)
    return [Tag(**dict(row)) for row in rows], await connection.fetchval(FOUND, vocabulary_id, search)


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
