"""What workers keep: models of vocabularies, loaded once and not too many, and vectors of known texts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from unittest.mock import AsyncMock, Mock

import numpy as np
import pytest

from adapters.tag_models import packed, similarity_file
from schemas.errors import FailureCategory, TextTooLongError
from schemas.settings.run import RunSettings
from stages.ports import TokenQuery, Vectors
from stages.vectors import unit_rows
from store import vocabularies
from store.database import Connection, Database
from store.runs import stages
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.tags import unit
from tests.refusals import failing
from tests.stages.tags.clothes import CLOTHES
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from tests.store.vocabularies.test_vocabularies import keep_models
from workers.tags import index_embed
from workers.wiring import TagModels, VocabularyModels
from workers.work import ReusingEmbedder

TOKENS = ["hat", "trousers"]
FILES: dict[vocabularies.Part, bytes] = {
    "tokens": packed(
        {"vectors": np.array([unit(1, 0), unit(0, 1)]), "buckets": np.empty(0), "ngrams": np.empty((0, 2))},
        {"tokens": TOKENS, "pieces": [0, 0, 0]},
    ),
    "context": packed(
        {"idf": unit(1), "components": np.array([unit(1, 1)]), "rows": np.array([unit(1, 1)])}, {"terms": ["hat"]}
    ),
    "similarity": similarity_file(np.eye(2, 8, dtype=np.float32)),
}
TOKENS_DIGEST, CONTEXT_DIGEST = (sha256(FILES[part]).hexdigest() for part in ("tokens", "context"))


@pytest.fixture
async def vocabulary_id(connection: Connection) -> int:
    return await store(connection)


async def store(connection: Connection) -> int:
    vocabulary_id = (await vocabularies.keep(connection, "clothes", CLOTHES)).id
    await keep_models(connection, vocabulary_id, FILES)
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
    assert near[0].alias_token == "trousers"
    assert near[0].score_spelling == pytest.approx((7 / 8) ** 2)


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
    inputs = {"vocabulary_id": 1, "sentences": {"backend": "huggingface", "model": "mini"}}
    work = Mock(claim=Mock(inputs=inputs), read={}, settings=RunSettings())
    work.database.ask = AsyncMock(return_value=CLOTHES)
    work.embedder_of.return_value = embedder

    await index_embed(work)

    assert embedder.calls == [sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})]


Embed = Callable[..., Awaitable[tuple[Vectors, tuple[int, ...], int]]]


@dataclass
class Rounding(FakeEmbedder):
    """Never gives the same bits twice, as a model whose passes differ."""

    weights: str = "a"
    format: str = "float32"
    asked: int = 0

    def __post_init__(self) -> None:
        self.vector_of = self._vector

    async def digest(self) -> str:
        return self.weights

    async def dtype(self) -> str:
        return self.format

    def _vector(self, text: str) -> list[float]:
        self.asked += 1
        return [1.0, len(text) / 7, 0.3 + self.asked / 1e4]


@pytest.fixture
def embed(database: Database, store_run: StoreRun) -> Embed:
    """Embeds texts in a stage of a new job, and stores them: the stored rows, what was cut, and what was reused."""

    async def done(
        embedder: FakeEmbedder, *texts: str, dimension: int = 3, truncate: bool = True
    ) -> tuple[Vectors, tuple[int, ...], int]:
        reusing = ReusingEmbedder(embedder, database, dimension=dimension)
        found = await reusing.embed_batch(texts, timeout_s=5, truncate=truncate)
        rows = unit_rows(found.vectors, rows=len(texts), dimension=dimension)
        claim = await database.ask(claimed, (await store_run()).job_ids[0])
        await database.ask(stages.commit, claim, inputs={}, output={}, vectors=rows, texts=reusing.texts)
        return rows, found.cut, found.reused

    return done


async def test_a_known_text_keeps_its_bits_and_asks_nobody(embed: Embed) -> None:
    embedder = Rounding(max_chars=20)
    first, cut, reused = await embed(embedder, "one", "a text that is far too long", "one")

    again, cut_again, reused_again = await embed(Rounding(max_chars=20), "a text that is far too long", "two", "one")

    assert (cut, reused, embedder.calls) == ((1,), 0, [["one", "a text that is far too long"]])
    assert (cut_again, reused_again) == ((0,), 2)
    assert [again[2].tobytes(), again[0].tobytes()] == [first[0].tobytes(), first[1].tobytes()]
    assert first[2].tobytes() == first[0].tobytes()


async def test_all_texts_known_need_no_pass_until_their_run_is_deleted(embed: Embed, connection: Connection) -> None:
    await embed(Rounding(), "one", "two")
    embedder = Rounding()

    _, _, reused = await embed(embedder, "two", "one")
    assert (reused, embedder.calls) == (2, [[]])

    await connection.execute("DELETE FROM run")
    _, _, reused = await embed(embedder, "one")
    assert (reused, embedder.calls) == (0, [[], ["one"]])


async def test_other_weights_format_model_or_dimension_are_computed(embed: Embed) -> None:
    await embed(Rounding(), "one")
    for other, dimension in [
        *((Rounding(weights="b"), 3), (Rounding(weights=""), 3)),
        *((Rounding(format="bfloat16"), 3), (Rounding(name="another"), 3), (Rounding(), 2)),
    ]:
        _, _, reused = await embed(other, "one", dimension=dimension)

        assert (reused, other.asked) == (0, 1), (other, dimension)


async def test_a_text_that_was_cut_is_refused_where_nothing_may_be_cut(embed: Embed) -> None:
    await embed(Rounding(max_chars=5), "far too long", "one")

    with pytest.raises(TextTooLongError, match="Text 3 of 3"):
        await embed(Rounding(max_chars=5), "one", "two", "far too long", truncate=False)
