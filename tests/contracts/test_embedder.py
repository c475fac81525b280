"""The contract of every Embedder. New ones are added to the list."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from adapters.ollama import OllamaEmbedder
from adapters.openai import OpenAIEmbedder
from adapters.weights import PACKAGED_EMBEDDER
from schemas.errors import LLMTimeoutError, TextTooLongError
from stages.ports import Embedder, Vectors
from tests.canned import canned, http
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.encoder import FakeEncoder
from tests.scripted_openai import ScriptedOpenAI
from workers.batcher import BatchedEmbedder, Batcher

TEXTS = ["I wake up at four every night.", "We went fishing.", "Nothing tastes good any more."]
LONG = "I lie awake. " * 400


@pytest.fixture(
    params=["fake", "batched", "openai", "openai that cuts", pytest.param("ollama", marks=pytest.mark.servers)]
)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "fake":
        yield FakeEmbedder(max_chars=1000)
        return
    if request.param == "batched":
        batcher = Batcher(FakeEncoder(), window_s=0.01, token_budget=4096)
        yield BatchedEmbedder(batcher)
        await batcher.close()
        return
    if request.param.startswith("openai"):
        async with ScriptedOpenAI([{"id": "m"}], reads=1000, cuts=request.param == "openai that cuts") as server:
            openai = OpenAIEmbedder("m", base_url=server.url)
            yield openai
            await openai.close()
        return
    ollama = OllamaEmbedder(PACKAGED_EMBEDDER, url=request.getfixturevalue("ollama_url"))
    yield ollama
    await ollama.close()


async def rows(embedder: Embedder, texts: list[str]) -> Vectors:
    embedded = await embedder.embed_batch(texts, timeout_s=60, truncate=False)
    assert embedded.cut == ()
    return embedded.vectors


async def test_there_is_one_float32_row_per_text_in_order_also_of_calls_at_the_same_time(embedder: Embedder) -> None:
    matrix, backwards = await rows(embedder, TEXTS), await rows(embedder, TEXTS[::-1])
    singly = await asyncio.gather(*(rows(embedder, [text]) for text in TEXTS))

    assert (matrix.ndim, len(matrix), matrix.dtype.name) == (2, 3, "float32")
    np.testing.assert_allclose(backwards[::-1], matrix, atol=1e-5)
    np.testing.assert_allclose(np.vstack(singly), matrix, atol=1e-5)
    assert embedder.name
    assert await embedder.digest() == await embedder.digest()
    assert await embedder.dtype() in ("float32", "F32", "")


async def test_a_time_out_names_its_seconds() -> None:
    async with canned(http(200, "{}"), delay_s=60) as url:
        made = OpenAIEmbedder("m", base_url=url), OllamaEmbedder(PACKAGED_EMBEDDER, url=url)
        slow: list[Embedder] = [FakeEmbedder(delay_s=60), *made]
        for embedder in slow:
            with pytest.raises(LLMTimeoutError, match=r"timed out after 0\.1s"):
                await embedder.embed_batch(TEXTS, timeout_s=0.1, truncate=False)
        for one in made:
            await one.close()


async def test_a_text_that_is_too_long_is_cut_and_named_on_request_and_refused_otherwise(embedder: Embedder) -> None:
    embedded = await embedder.embed_batch([TEXTS[0], LONG, TEXTS[1]], timeout_s=60, truncate=True)

    longer = await embedder.embed_batch([LONG + "And then I get up."], timeout_s=60, truncate=True)
    assert (embedded.cut, longer.cut) == ((1,), (0,))
    np.testing.assert_allclose(embedded.vectors[::2], await rows(embedder, TEXTS[:2]), atol=1e-5)
    np.testing.assert_allclose(embedded.vectors[1], longer.vectors[0], atol=1e-5)
    with pytest.raises(TextTooLongError, match=r"Text 2 of 3 \(5200 characters.*RAGQ_LONG_TEXTS=truncate") as caught:
        await embedder.embed_batch([TEXTS[0], LONG, LONG], timeout_s=60, truncate=False)

    assert caught.value.position == 1
    assert "awake" not in str(caught.value)
    assert len(await rows(embedder, TEXTS)) == 3
