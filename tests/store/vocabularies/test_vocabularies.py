"""Vocabularies: all or nothing, models once."""

from dataclasses import replace
from hashlib import sha256

import asyncpg
import numpy as np
import pytest

from schemas.errors import Refused, VocabularyMissingError, VocabularyModelsError
from schemas.values.tags import Tag, TagDocument, Vocabulary
from stages.tags.models import SentenceModel
from store.database import Database
from store.vocabularies import vocabularies
from tests.contracts.test_tag_search import built
from tests.stages.tags.builders import at

CLOTHES = Vocabulary(
    tags=(Tag(name="shirt", category="0", count=9, nsfw_probability=0.1), Tag(name="hat", title="Hat")),
    aliases={"Tee": ("shirt",), "wear": ("hat", "shirt")},
    documents=(TagDocument(tags=("shirt", "hat"), weight=3), TagDocument(tags=("hat",))),
)
MODELS = built({"shirt": at(0), "tee": at(10)}, shirt=at(45))


async def test_an_imported_vocabulary_is_read_unchanged(database: Database) -> None:
    async with database.connection() as connection:
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


async def test_a_failed_import_leaves_the_older_vocabulary_unchanged(database: Database) -> None:
    twice = CLOTHES.model_copy(update={"tags": (*CLOTHES.tags, Tag(name="hat"))})
    async with database.connection() as connection:
        older = await vocabularies.keep(connection, "clothes", CLOTHES)

        with pytest.raises(asyncpg.UniqueViolationError):
            await vocabularies.keep(connection, "clothes", twice)

        assert [listed.id for listed in await vocabularies.current(connection)] == [older]
        assert await connection.fetchval("SELECT count(*) FROM tag") == 2


async def test_a_newer_import_takes_the_name_and_the_older_one_is_kept_for_its_jobs(database: Database) -> None:
    async with database.connection() as connection:
        older = await vocabularies.keep(connection, "clothes", CLOTHES)
        newer = await vocabularies.keep(connection, "clothes", CLOTHES)

        found = await vocabularies.by_name(connection, "clothes")
        assert found is not None
        assert found.id == newer
        assert await vocabularies.by_name(connection, "hats") is None
        assert await vocabularies.content(connection, older) == CLOTHES


async def test_models_are_kept_with_their_files_and_rows(database: Database) -> None:
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, MODELS)

        assert await vocabularies.model_file(connection, vocabulary_id, "tokens") == b"tokens"
        rows = await vocabularies.context_rows(connection, vocabulary_id, ["shirt", "hat"])
        (listed,) = await vocabularies.current(connection)

    assert list(rows) == ["shirt"]
    np.testing.assert_array_equal(rows["shirt"], at(45))
    assert (listed.model, listed.dimension) == ("given", 2)
    assert listed.indexed_at is not None


async def test_models_are_built_once_and_the_same_ones_change_nothing(database: Database) -> None:
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, MODELS)
        await vocabularies.keep_models(connection, vocabulary_id, MODELS)
        others = built({"shirt": at(0)})

        with pytest.raises(Refused, match="has other models already"):
            await vocabularies.keep_models(
                connection, vocabulary_id, type(others)(**vars(others) | {"tokens_file": b"x"})
            )

        assert await connection.fetchval("SELECT count(*) FROM tag_vector") == 2


async def test_models_that_are_missing_or_changed_are_refused(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(VocabularyMissingError):
            await vocabularies.keep_models(connection, 99, MODELS)
        with pytest.raises(VocabularyMissingError):
            await vocabularies.content(connection, 99)
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        with pytest.raises(VocabularyModelsError, match="ragq index tags"):
            await vocabularies.model_file(connection, vocabulary_id, "context")
        await vocabularies.keep_models(connection, vocabulary_id, MODELS)
        await connection.execute("UPDATE vocabulary_model SET data = 'other' WHERE part = 'context'")

        with pytest.raises(VocabularyModelsError, match="is not what was stored"):
            await vocabularies.model_file(connection, vocabulary_id, "context")


async def test_vectors_are_read_as_they_were_stored_in_the_order_of_tokens(database: Database) -> None:
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, built({"tee": at(10), "a_": at(1), "aB": at(2)}))

        table = await vocabularies.token_vectors(connection, vocabulary_id)

    assert table.tokens == ["aB", "a_", "tee"]
    assert table.vectors.tobytes() == np.array([at(2), at(1), at(10)]).tobytes()


async def test_the_embedder_and_the_bytes_of_spelling_and_meaning_are_kept(database: Database) -> None:
    models = replace(MODELS, similarity_file=b"similar", sentences=SentenceModel("huggingface", "mini", "abc"))
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, models)
        (listed,) = await vocabularies.current(connection)

        assert await vocabularies.model_file(connection, vocabulary_id, "similarity") == b"similar"

    assert (listed.sentence_backend, listed.sentence_model, listed.sentence_digest) == ("huggingface", "mini", "abc")
    assert listed.similarity_digest == sha256(b"similar").hexdigest()


async def test_tags_that_reach_a_count_are_counted(database: Database) -> None:
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)

        assert await vocabularies.reaching(connection, vocabulary_id, 9) == (2, 1)
        assert await vocabularies.reaching(connection, vocabulary_id, 10) == (2, 0)
