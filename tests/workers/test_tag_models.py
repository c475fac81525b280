"""Models of vocabularies in a worker: loaded once, and only those that a run was submitted on."""

import asyncio

import numpy as np
import pytest

from adapters.tag_models import context_file, similarity_file, tokens_file
from schemas.errors import EmbeddingDimensionMismatchError, VocabularyError
from stages.ports import TokenQuery
from stages.tags.similarity import BuiltModels, SentenceModel, TokenModel
from store import vocabularies
from store.database import Database
from tests.fakes.tags import unit
from tests.stages.tags.clothes import CLOTHES
from workers.tag_models import TagModels

PLACED = {"hat": unit(1, 0), "shirt": unit(0, 1)}


@pytest.fixture
async def stored(database: Database) -> tuple[int, str, str]:
    """A vocabulary with models; its number and their digests."""
    rows = [PLACED[token] for token in sorted(PLACED)]
    models = BuiltModels(
        tokens=TokenModel("given", 2, PLACED, tokens_file("given", sorted(PLACED), np.array(rows))),
        context_rows={"hat": unit(1, 1)},
        context_file=context_file(["hat"], unit(1), np.array([unit(1, 1)])),
    )
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, models)
        found = await vocabularies.by_name(connection, "clothes")
    assert found is not None and found.model_digest is not None and found.context_digest is not None
    return vocabulary_id, found.model_digest, found.context_digest


async def test_models_are_loaded_once_however_many_ask_at_once(
    database: Database, stored: tuple[int, str, str]
) -> None:
    vocabulary_id, tokens, context = stored
    models = TagModels(database)

    first, second = await asyncio.gather(
        *(models.of(vocabulary_id, tokens_digest=tokens, context_digest=context) for _ in range(2))
    )
    async with database.connection() as connection:
        await connection.execute("DELETE FROM vocabulary_model")

    assert first is second
    assert await models.of(vocabulary_id, tokens_digest=tokens, context_digest=context) is first
    assert sorted(first.tokens.vectors_of(["hat", "shirt"])) == ["hat", "shirt"]
    assert list(first.context.terms) == ["hat"]


async def test_other_models_than_those_of_the_submission_are_refused(
    database: Database, stored: tuple[int, str, str]
) -> None:
    vocabulary_id, tokens, _ = stored

    with pytest.raises(VocabularyError, match="not those that the run was submitted on"):
        await TagModels(database).of(vocabulary_id, tokens_digest=tokens, context_digest="others")


async def test_missing_models_are_an_error_and_are_read_again_later(
    database: Database, stored: tuple[int, str, str]
) -> None:
    vocabulary_id, tokens, context = stored
    models = TagModels(database)
    async with database.connection() as connection:
        kept = await connection.fetchrow("DELETE FROM vocabulary_model WHERE part = 'context' RETURNING *")

    with pytest.raises(VocabularyError, match="has no models yet"):
        await models.of(vocabulary_id, tokens_digest=tokens, context_digest=context)

    async with database.connection() as connection:
        await connection.execute("INSERT INTO vocabulary_model SELECT $1, $2, $3, $4", *kept.values())
    assert (await models.of(vocabulary_id, tokens_digest=tokens, context_digest=context)).context.digest == context


async def test_all_sources_are_searched_where_a_phrase_has_a_sentence_vector(database: Database) -> None:
    tokens = sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})
    sentences = np.random.default_rng(1).standard_normal((len(tokens), 8)).astype(np.float32)
    built = BuiltModels(
        tokens=TokenModel("given", 2, PLACED, b"tokens"),
        context_rows={},
        context_file=b"context",
        similarity_file=similarity_file(tokens, sentences),
        sentences=SentenceModel("huggingface", "mini", "abc"),
    )
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
        await vocabularies.keep_models(connection, vocabulary_id, built)
    models = TagModels(database)

    (near,) = await models.nearest(vocabulary_id, [TokenQuery("trousrs", None, sentences[0])], limit=2)

    assert near[0].token == "trousers"
    assert near[0].sources is not None and near[0].sources.score_spelling == pytest.approx((7 / 8) ** 2)
    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 8 dimensions, got 2"):
        await models.nearest(vocabulary_id, [TokenQuery("hats", None, unit(1, 0))], limit=1)
