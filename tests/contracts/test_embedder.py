"""The contract of every Embedder. New ones are added to the list."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from adapters.ollama_embedder import OllamaEmbedder
from adapters.packaged import PACKAGED_EMBEDDER
from schemas.errors import LLMTimeoutError
from stages.ports import Embedder
from tests.canned import canned, http
from tests.fakes.embedder import FakeEmbedder

TEXTS = ["I wake up at four every night.", "We went fishing.", "Nothing tastes good any more."]


@pytest.fixture(params=["fake", pytest.param("ollama", marks=pytest.mark.servers)])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "fake":
        yield FakeEmbedder()
        return
    ollama = OllamaEmbedder(PACKAGED_EMBEDDER, url=request.getfixturevalue("ollama_url"))
    yield ollama
    await ollama.close()


@pytest.fixture(params=["fake", "ollama"])
async def slow_embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "fake":
        yield FakeEmbedder(delay_s=60)
        return
    async with canned(http(200, "{}"), delay_s=60) as url:
        ollama = OllamaEmbedder(PACKAGED_EMBEDDER, url=url)
        yield ollama
        await ollama.close()


async def test_there_is_one_float32_row_per_text_in_order(embedder: Embedder) -> None:
    matrix = await embedder.embed_batch(TEXTS, timeout_s=60)
    backwards = await embedder.embed_batch(TEXTS[::-1], timeout_s=60)
    assert (matrix.ndim, len(matrix), matrix.dtype.name) == (2, 3, "float32")
    np.testing.assert_allclose(backwards[::-1], matrix, atol=1e-5)


async def test_no_text_gives_a_matrix_of_zero_rows(embedder: Embedder) -> None:
    assert len(await embedder.embed_batch([], timeout_s=60)) == 0


async def test_no_text_asks_nobody(slow_embedder: Embedder) -> None:
    assert len(await slow_embedder.embed_batch([], timeout_s=0.1)) == 0


async def test_a_time_out_names_its_seconds(slow_embedder: Embedder) -> None:
    with pytest.raises(LLMTimeoutError, match=r"timed out after 0\.1s") as caught:
        await slow_embedder.embed_batch(TEXTS, timeout_s=0.1)
    assert caught.value.timeout_seconds == 0.1


async def test_the_name_and_the_digest_stay_the_same(embedder: Embedder) -> None:
    assert embedder.name
    assert await embedder.digest() == await embedder.digest()


async def test_calls_at_the_same_time_get_their_own_rows(embedder: Embedder) -> None:
    matrices = await asyncio.gather(*(embedder.embed_batch([text], timeout_s=60) for text in TEXTS))
    np.testing.assert_allclose(np.vstack(matrices), await embedder.embed_batch(TEXTS, timeout_s=60), atol=1e-5)
