"""A text that was embedded before is found by its hash, and is not computed again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from schemas.errors import TextTooLongError
from stages.ports import Vectors
from stages.vectors import unit_rows
from store.database import Connection, Database
from store.runs import stages
from tests.fakes.embedder import FakeEmbedder
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from workers.work import ReusingEmbedder

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
