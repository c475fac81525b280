import json
from collections.abc import Sequence

import httpx
import numpy as np
import pytest

from adapters.model_servers import TEXTS_PER_REQUEST
from adapters.openai import OpenAIChat, OpenAIEmbedder
from schemas.errors import EmbeddingValidationError, LLMError
from schemas.values.chat import ChatCall, Message
from stages.failures import is_transport_error
from stages.ports import TextVectors
from tests.adapters.conftest import Closing
from tests.canned import canned, http
from tests.fakes.embedder import hash_vector
from tests.scripted_openai import ScriptedOpenAI

SECRET = "I told nobody about the lighthouse. "
CALL = ChatCall(model="m", messages=(Message(role="user", content="my secret"),), timeout_s=9)


@pytest.mark.parametrize(
    ("status", "retry_after", "is_temporary"),
    [(429, "7", True), (503, None, True), (401, None, False), (404, None, False)],
)
async def test_a_fault_is_recognised_by_its_status_and_shows_no_text_and_no_credentials(
    closing: Closing, status: int, retry_after: str | None, is_temporary: bool
) -> None:
    reply = http(status, '{"error": {"message": "about my secret"}}')
    if retry_after is not None:
        reply = reply.replace(b"Connection:", f"Retry-After: {retry_after}\r\nConnection:".encode())
    async with canned(reply) as url:
        with pytest.raises(LLMError, match=f"model 'm' with status {status}") as caught:
            await closing(OpenAIChat(url.replace("//", "//me:hidden@"))).chat(CALL)

    assert (caught.value.status, is_transport_error(caught.value)) == (status, is_temporary)
    assert caught.value.retry_after_s == (7.0 if retry_after else None)
    assert "my secret" in caught.value.detail
    assert "secret" not in repr(caught.value)
    assert "hidden" not in repr(caught.value)


async def test_no_repr_contains_the_api_key(closing: Closing) -> None:
    model = closing(OpenAIChat("http://127.0.0.1:1/v1/", api_key="sk-top"))
    with pytest.raises(httpx.ConnectError) as caught:
        await model.chat(CALL)
    assert "sk-top" not in f"{model!r} {vars(model)!r} {caught.value!r}"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("about my secret", r"body is wrong \(json_invalid\)"),
        ('{"choices": []}', r"choices is wrong \(too_short\)"),
        (
            '{"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "my secret"}]}}]}',
            r"choices\.0\.logprobs\.content\.0\.logprob is wrong \(missing\)",
        ),
        ('{"choices": [{"message": {"content": ["my secret"]}}]}', r"choices\.0\.message\.content is wrong"),
        (
            '{"choices": [{"message": {"content": null, "reasoning_content": "hm"}, "finish_reason": "length"}]}',
            r"answered without text \(finish_reason 'length'\)",
        ),
        (
            'data: {"choices": [{"delta": {"content": "By"}}]}\n\ndata: {"error": {"message": "my secret"}}\n\n',
            "model 'm' with an error",
        ),
    ],
)
async def test_other_shapes_and_errors_of_streams_quote_nothing(closing: Closing, body: str, problem: str) -> None:
    is_stream = body.startswith("data:")
    reply = http(200, body)
    async with canned(reply.replace(b"application/json", b"text/event-stream") if is_stream else reply) as url:
        with pytest.raises(LLMError, match=problem) as caught:
            await closing(OpenAIChat(url)).chat(CALL, (lambda text: None) if is_stream else None)
    assert ("my secret" in caught.value.detail, "secret" in repr(caught.value)) == (is_stream, False)


async def embed(url: str, texts: Sequence[str], *, truncate: bool = True) -> TextVectors:
    embedder = OpenAIEmbedder("m", base_url=url)
    try:
        return await embedder.embed_batch(texts, timeout_s=9, truncate=truncate)
    finally:
        await embedder.close()


async def test_many_texts_are_sent_in_several_requests_and_come_back_in_order() -> None:
    texts = [f"text {number}" for number in range(TEXTS_PER_REQUEST + 1)]
    async with ScriptedOpenAI() as server:
        embedded = await embed(server.url, texts, truncate=False)

    assert [len(asked["input"]) for asked in server.asked] == [TEXTS_PER_REQUEST, 1]
    np.testing.assert_allclose(embedded.vectors, [hash_vector(text) for text in texts], atol=1e-6)


@pytest.mark.parametrize("indices", [(0,), (0, 0), (0, 2), (0, 1, 2)])
async def test_a_row_for_each_text_is_demanded(indices: tuple[int, ...]) -> None:
    rows = [{"index": index, "embedding": [1.0, 1.0]} for index in indices]
    async with canned(http(200, json.dumps({"data": rows}))) as url:
        with pytest.raises(EmbeddingValidationError, match="vectors for 2 texts, or not one for each"):
            await embed(url, ["a", "b"], truncate=False)


@pytest.mark.parametrize("reads", [1, 100, 127, 1000])
async def test_of_a_long_text_the_longest_start_is_kept_to_within_an_eighth(reads: int) -> None:
    async with ScriptedOpenAI(reads=reads) as server:
        embedded = await embed(server.url, [SECRET * 100])

    kept = max(len(asked["input"][0]) for asked in server.asked if len(asked["input"][0]) <= reads)
    assert (embedded.cut, reads * 7 / 8 <= kept) == ((0,), True)
    assert embedded.vectors[0].tolist() == pytest.approx(hash_vector((SECRET * 100)[:kept]))


async def test_a_server_that_may_cut_reports_its_tokens() -> None:
    async with ScriptedOpenAI(reads=200, cuts=True, reports_usage=False) as server:
        with pytest.raises(LLMError, match=r"a text that it cut would go unnoticed.*--auto-truncate false"):
            await embed(server.url, [SECRET * 5])
