import json
from collections.abc import Callable, Sequence

import pytest

from adapters.ollama import OllamaEmbedder
from schemas.errors import EmbeddingValidationError, LLMError
from tests.adapters.conftest import Closing
from tests.canned import canned, http

Embedding = Callable[[str, str], OllamaEmbedder]


@pytest.fixture
def embedder(closing: Closing) -> Embedding:
    """Makes embedders of a name and a URL."""
    return lambda name, url: closing(OllamaEmbedder(name, url=url))


def rows(*embeddings: Sequence[float]) -> bytes:
    return http(200, json.dumps({"model": "m", "embeddings": embeddings}))


async def test_an_unknown_model_is_named_with_the_way_to_fetch_it(embedder: Embedding, ollama_url: str) -> None:
    for ask in (
        embedder("nope", ollama_url).digest(),
        embedder("nope", ollama_url).embed_batch(["a"], timeout_s=9, truncate=False),
    ):
        with pytest.raises(LLMError, match=r"has no model 'nope'") as caught:
            await ask
        assert caught.value.status == 404


async def test_too_few_rows_are_an_error(embedder: Embedding) -> None:
    async with canned(rows([1.0, 0.0])) as url:
        with pytest.raises(EmbeddingValidationError, match="m returned 1 vectors for 2 texts"):
            await embedder("m", url).embed_batch(["a", "b"], timeout_s=9, truncate=False)


async def test_a_reply_that_is_not_json_is_an_error_that_quotes_nothing(embedder: Embedding) -> None:
    for body in ("my secret", '{"embeddings": "my secret"}'):
        async with canned(http(200, body)) as url:
            with pytest.raises(LLMError, match="something other than Ollama's JSON") as caught:
                await embedder("m", url).embed_batch(["a"], timeout_s=9, truncate=False)
        assert "secret" not in repr(caught.value)
