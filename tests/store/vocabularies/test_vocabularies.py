"""Vocabularies: all or nothing."""

import asyncpg
import pytest

from schemas.values.tags import Tag, TagDocument, Vocabulary
from store import vocabularies
from store.database import Connection

CLOTHES = Vocabulary(
    tags=(Tag(name="shirt", category="0", count=9, nsfw_probability=0.1), Tag(name="hat", title="Hat")),
    aliases={"Tee": ("shirt",), "wear": ("hat", "shirt")},
    documents=(TagDocument(tags=("shirt", "hat"), weight=3), TagDocument(tags=("hat",))),
)


async def test_an_imported_vocabulary_is_read_unchanged(connection: Connection) -> None:
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)

    assert await vocabularies.content(connection, vocabulary_id) == CLOTHES
    (listed,) = await vocabularies.current(connection)

    assert (listed.id, listed.name, listed.tags, listed.aliases, listed.documents, listed.dimension) == (
        vocabulary_id,
        "clothes",
        2,
        2,
        2,
        None,
    )


async def test_a_failed_import_leaves_the_older_vocabulary_unchanged(connection: Connection) -> None:
    twice = CLOTHES.model_copy(update={"tags": (*CLOTHES.tags, Tag(name="hat"))})
    older = await vocabularies.keep(connection, "clothes", CLOTHES)

    with pytest.raises(asyncpg.UniqueViolationError):
        await vocabularies.keep(connection, "clothes", twice)

    assert [listed.id for listed in await vocabularies.current(connection)] == [older]
    assert await connection.fetchval("SELECT count(*) FROM tag") == 2


async def test_a_newer_import_takes_the_name_and_the_older_one_is_kept_for_its_jobs(connection: Connection) -> None:
    older = await vocabularies.keep(connection, "clothes", CLOTHES)
    newer = await vocabularies.keep(connection, "clothes", CLOTHES)

    found = await vocabularies.by_name(connection, "clothes")
    assert found is not None
    assert found.id == newer
    assert await vocabularies.by_name(connection, "hats") is None
    assert await vocabularies.content(connection, older) == CLOTHES


async def test_tags_that_reach_a_count_are_counted(connection: Connection) -> None:
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)

    assert await vocabularies.reaching(connection, vocabulary_id, 9) == (2, 1)
    assert await vocabularies.reaching(connection, vocabulary_id, 10) == (2, 0)
