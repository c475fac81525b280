"""Models of vocabularies in a worker: loaded once, only those that a run was submitted on, and not too many."""

import asyncio
from hashlib import sha256
from unittest.mock import AsyncMock, Mock

import numpy as np
import pytest

from adapters.tag_models import context_file, similarity_file, tokens_file
from schemas.errors import FailureCategory
from schemas.settings.run import RunSettings
from stages.ports import TokenQuery
from stages.tags.similarity import SentenceModel
from store import vocabularies
from store.database import Connection, Database
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.tags import unit
from tests.refusals import failing
from tests.stages.tags.clothes import CLOTHES
from tests.store.vocabularies.test_vocabularies import keep_models
from workers.tag_models import TagModels, VocabularyModels
from workers.tags import index_embed

TOKENS = ["hat", "trousers"]
FILES: dict[vocabularies.Part, bytes] = {
    "tokens": tokens_file("given", TOKENS, np.array([unit(1, 0), unit(0, 1)])),
    "context": context_file(["hat"], unit(1), np.array([unit(1, 1)]), np.array([unit(1, 1)])),
    "similarity": similarity_file(np.eye(2, 8, dtype=np.float32)),
}
TOKENS_DIGEST, CONTEXT_DIGEST = (sha256(FILES[part]).hexdigest() for part in ("tokens", "context"))


@pytest.fixture
async def vocabulary_id(connection: Connection) -> int:
    return await store(connection)


async def store(connection: Connection) -> int:
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    await keep_models(connection, vocabulary_id, FILES, SentenceModel("huggingface", "mini", "abc"))
    return vocabulary_id


async def of(
    models: TagModels, vocabulary_id: int, *, context: str = CONTEXT_DIGEST, is_fused: bool = False
) -> VocabularyModels:
    return await models.of(vocabulary_id, tokens_digest=TOKENS_DIGEST, context_digest=context, is_fused=is_fused)


async def test_models_are_loaded_once_and_only_those_of_the_submission(
    database: Database, connection: Connection, vocabulary_id: int
) -> None:
    models = TagModels(database)

    first, second = await asyncio.gather(of(models, vocabulary_id), of(models, vocabulary_id))
    await connection.execute("DELETE FROM vocabulary_model")

    assert first is second
    assert await of(models, vocabulary_id) is first
    assert sorted(first.tokens.vectors_of(["hat", "trousers", "new"])) == TOKENS
    assert first.context.rows_of(["hat", "trousers"]).keys() == {"hat"}
    assert first.fused is None
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "not those that the run was submitted on"):
        await of(models, vocabulary_id, context="others")


async def test_missing_models_are_an_error_and_are_read_again_later(
    database: Database, connection: Connection, vocabulary_id: int
) -> None:
    models = TagModels(database)
    kept = await connection.fetchrow("DELETE FROM vocabulary_model WHERE part = 'context' RETURNING *")

    with failing(FailureCategory.VOCABULARY_UNUSABLE, "has no models yet"):
        await of(models, vocabulary_id)

    await connection.execute("INSERT INTO vocabulary_model SELECT $1, $2, $3, $4", *kept.values())
    assert (await of(models, vocabulary_id)).context.digest == CONTEXT_DIGEST


async def test_all_sources_are_searched_where_models_of_all_are_wanted(database: Database, vocabulary_id: int) -> None:
    fused = (await of(TagModels(database), vocabulary_id, is_fused=True)).fused

    assert fused is not None
    (near,) = fused.nearest([TokenQuery("trousrs", None, np.eye(2, 8, dtype=np.float32)[1])], 2)
    assert near[0].token == "trousers"
    assert near[0].sources is not None and near[0].sources.score_spelling == pytest.approx((7 / 8) ** 2)


async def test_the_least_recently_used_models_make_room_and_the_newest_stay(database: Database) -> None:
    ids = [await database.ask(store) for _ in range(3)]
    size = 3 * (len(FILES["tokens"]) + len(FILES["context"]))
    models = TagModels(database, max_bytes=2 * size)

    first, second = [await of(models, one) for one in ids[:2]]
    assert await of(models, ids[0]) is first
    await of(models, ids[2])

    assert await of(models, ids[0]) is first
    assert await of(models, ids[1]) is not second
    small = TagModels(database, max_bytes=1)
    assert await of(small, ids[0]) is await of(small, ids[0])


async def test_names_are_embedded_in_ascending_order() -> None:
    embedder = FakeEmbedder()
    inputs = {"vocabulary_id": 1, "seed": 1, "sentences": {"backend": "huggingface", "model": "mini"}}
    work = Mock(claim=Mock(inputs=inputs), read={}, settings=RunSettings())
    work.database.ask = AsyncMock(return_value=CLOTHES)
    work.embedder_of.return_value = embedder

    await index_embed(work)

    assert embedder.calls == [sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})]
