"""Vocabularies and their models: all or nothing; and the contract of looking tokens up."""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256

import asyncpg
import pytest

from schemas.errors import FailureCategory, Refused
from schemas.values.tags import BuiltVocabulary, Tag, Vocabulary
from stages.ports import LookUp
from store import vocabularies
from store.database import Connection, Database
from store.vocabularies import Part
from tests.fakes.tags import InMemoryVocabulary
from tests.refusals import failing

CLOTHES = Vocabulary(
    tags=(Tag(name="shirt", category="0", count=9, nsfw_probability=0.1), Tag(name="hat", title="Hat")),
    aliases={"Tee": ("shirt",), "wear": ("hat", "shirt")},
    documents=((("shirt", "hat"), 3), (("hat",), 1)),
)


async def test_an_imported_vocabulary_is_read_unchanged(connection: Connection) -> None:
    vocabulary_id = (await vocabularies.keep(connection, "clothes", CLOTHES)).id

    assert await vocabularies.content(connection, vocabulary_id) == CLOTHES
    assert [await vocabularies.share(connection, vocabulary_id, count) for count in (9, 10)] == [0.5, 0]
    (listed,) = await vocabularies.current(connection)

    assert (listed.id, listed.name, listed.dimension) == (vocabulary_id, "clothes", None)
    assert (listed.tags, listed.aliases, listed.documents) == (2, 2, 2)


async def test_a_newer_import_takes_the_name_and_the_older_one_is_kept_for_its_jobs(connection: Connection) -> None:
    twice = CLOTHES.model_copy(update={"tags": (*CLOTHES.tags, Tag(name="hat"))})
    older = (await vocabularies.keep(connection, "clothes", CLOTHES)).id
    # One that fails leaves the older one as it is.
    with pytest.raises(asyncpg.UniqueViolationError):
        await vocabularies.keep(connection, "clothes", twice)
    assert [listed.id for listed in await vocabularies.current(connection)] == [older]
    assert await connection.fetchval("SELECT count(*) FROM tag") == 2

    newer = (await vocabularies.keep(connection, "clothes", CLOTHES)).id

    (found,) = await vocabularies.current(connection, "clothes")
    assert found is not None and found.id == newer
    assert await vocabularies.current(connection, "hats") == []
    assert await vocabularies.content(connection, older) == CLOTHES
    with failing(FailureCategory.VOCABULARY_UNUSABLE, f"Vocabulary {newer + 1} is not stored"):
        await vocabularies.content(connection, newer + 1)


FILES: dict[Part, bytes] = {"tokens": b"tokens", "context": b"context", "similarity": b"similar"}
MINI = {"sentence_backend": "huggingface", "sentence_model": "mini", "sentence_digest": "abc"}


async def keep_models(connection: Connection, vocabulary_id: int, files: Mapping[Part, bytes] = FILES) -> None:
    """Give a vocabulary models of these bytes."""
    digests = {part: sha256(data).hexdigest() for part, data in files.items()}
    built = BuiltVocabulary(
        vocabulary_id=vocabulary_id,
        model="given",
        model_digest=digests["tokens"],
        context_digest=digests["context"],
        similarity_digest=digests.get("similarity"),
        dimension=2,
        **MINI,
    )
    await vocabularies.keep_models(connection, built, files)


async def test_models_are_kept_once_with_their_files_and_refused_where_they_are_missing_or_changed(
    connection: Connection,
) -> None:
    with failing(FailureCategory.VOCABULARY_UNUSABLE):
        await keep_models(connection, 99)
    vocabulary_id = (await vocabularies.keep(connection, "clothes", CLOTHES)).id
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "ragq index tags"):
        await vocabularies.file(connection, vocabulary_id, "context")
    for _ in range(2):
        await keep_models(connection, vocabulary_id)

    assert {part: await vocabularies.file(connection, vocabulary_id, part) for part in FILES} == FILES
    (listed,) = await vocabularies.current(connection)
    assert (listed.model, listed.dimension) == ("given", 2)
    assert listed.indexed_at is not None
    assert MINI.items() <= dict(listed).items()
    assert listed.similarity_digest == sha256(b"similar").hexdigest()
    with pytest.raises(Refused, match="has other models already"):
        await keep_models(connection, vocabulary_id, {**FILES, "tokens": b"others"})
    await connection.execute("UPDATE vocabulary_model SET data = 'other' WHERE part = 'context'")
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "is not what was stored"):
        await vocabularies.file(connection, vocabulary_id, "context")


SHIRT = Tag(name="shirt", category="0", count=90, nsfw_probability=0.25)
HAT = Tag(name="hat", category="7", count=None)
BOTH = Tag(name="both", count=1)
ALIASES = {"tee": ("shirt",), "wear": ("hat", "shirt"), "both": ("hat",)}


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def stored_in(request: pytest.FixtureRequest) -> Database | None:
    """The database of the real one; None for the fake."""
    return request.getfixturevalue("database") if request.param == "postgres" else None


async def test_tags_aliases_and_their_targets_are_looked_up(stored_in: Database | None) -> None:
    look_up: LookUp = InMemoryVocabulary({tag.name: tag for tag in (SHIRT, HAT, BOTH)}, ALIASES).look_up
    if stored_in is not None:
        imported = Vocabulary(tags=(SHIRT, HAT, BOTH), aliases=ALIASES)
        stored_id = (await stored_in.once(vocabularies.keep, "clothes", imported)).id
        look_up = partial(vocabularies.look_up, stored_in, stored_id)
        with failing(FailureCategory.VOCABULARY_UNUSABLE, "Vocabulary 99 is not stored"):
            await vocabularies.look_up(stored_in, 99, ["word"])

    assert await look_up(["wear", "nobody", "both"]) == Vocabulary(
        tags=(BOTH, HAT, SHIRT), aliases={"both": ("hat",), "wear": ("hat", "shirt")}
    )
    assert await look_up(["nobody"]) == await look_up([]) == Vocabulary(tags=(), aliases={})
