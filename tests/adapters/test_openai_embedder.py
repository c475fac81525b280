import json
from collections.abc import Callable

import numpy as np
import pytest

from adapters.openai import TEXTS_PER_REQUEST, OpenAIEmbedder
from schemas.errors import EmbeddingValidationError, LLMError, TextTooLongError
from tests.adapters.conftest import Closing
from tests.canned import canned, http
from tests.fakes.embedder import hash_vector
from tests.scripted_openai import ScriptedOpenAI

SECRET = "I told nobody about the lighthouse. "

Embedding = Callable[[str], OpenAIEmbedder]


@pytest.fixture
def embedder(closing: Closing) -> Embedding:
    """Makes embedders of a URL."""
    return lambda url: closing(OpenAIEmbedder("m", base_url=url, api_key="sk-top"))


def rows(*indices: int, size: int = 2) -> bytes:
    return http(200, json.dumps({"data": [{"index": index, "embedding": [1.0] * size} for index in indices]}))


async def test_many_texts_are_sent_in_several_requests_and_come_back_in_order(embedder: Embedding) -> None:
    texts = [f"text {number}" for number in range(TEXTS_PER_REQUEST + 1)]
    async with ScriptedOpenAI() as server:
        embedded = await embedder(server.url).embed_batch(texts, timeout_s=9, truncate=False)

    assert [len(asked["input"]) for asked in server.asked] == [TEXTS_PER_REQUEST, 1]
    np.testing.assert_allclose(embedded.vectors, [hash_vector(text) for text in texts], atol=1e-6)


@pytest.mark.parametrize("indices", [(0,), (0, 0), (0, 2), (0, 1, 2)])
async def test_a_row_for_each_text_is_demanded(embedder: Embedding, indices: tuple[int, ...]) -> None:
    async with canned(rows(*indices)) as url:
        with pytest.raises(EmbeddingValidationError, match="vectors for 2 texts, or not one for each"):
            await embedder(url).embed_batch(["a", "b"], timeout_s=9, truncate=False)


@pytest.mark.parametrize("reads", [1, 100, 127, 1000])
async def test_of_a_long_text_the_longest_start_is_kept_to_within_an_eighth(embedder: Embedding, reads: int) -> None:
    async with ScriptedOpenAI(reads=reads) as server:
        embedded = await embedder(server.url).embed_batch([SECRET * 100], timeout_s=9, truncate=True)

    kept = max(len(asked["input"][0]) for asked in server.asked if len(asked["input"][0]) <= reads)
    assert (embedded.cut, reads * 7 / 8 <= kept) == ((0,), True)
    assert embedded.vectors[0].tolist() == pytest.approx(hash_vector((SECRET * 100)[:kept]))


async def test_a_server_that_cuts_is_noticed_by_the_tokens_that_it_reports(embedder: Embedding) -> None:
    async with ScriptedOpenAI(reads=200, cuts=True) as server:
        embedding = embedder(server.url)
        with pytest.raises(TextTooLongError, match=r"Text 2 of 2"):
            await embedding.embed_batch(["short", SECRET * 100], timeout_s=9, truncate=False)
        cut = (await embedding.embed_batch([SECRET * 5, SECRET * 6], timeout_s=9, truncate=True)).cut

    assert (len(SECRET * 5), cut) == (180, (1,))


async def test_a_server_that_cuts_and_reports_nothing_is_refused(embedder: Embedding) -> None:
    async with ScriptedOpenAI(reads=200, cuts=True, reports_usage=False) as server:
        with pytest.raises(LLMError, match=r"a text that it cut would go unnoticed.*--auto-truncate false"):
            await embedder(server.url).embed_batch([SECRET * 5], timeout_s=9, truncate=True)
