import json
from collections.abc import Callable

import httpx
import pytest

from adapters.openai import OpenAIChat
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, Message
from stages.failures import is_transport_error
from tests.adapters.conftest import Closing
from tests.canned import canned, http
from tests.scripted_openai import ScriptedOpenAI

CALL = ChatCall(model="m", messages=(Message(role="user", content="my secret"),), timeout_s=9)
Chatting = Callable[[str], OpenAIChat]


@pytest.fixture
def chat(closing: Closing) -> Chatting:
    """Makes chat models of a URL."""
    return lambda url: closing(OpenAIChat(url, api_key="sk-top"))


@pytest.mark.parametrize(("status", "is_temporary"), [(429, True), (503, True), (401, False), (404, False)])
async def test_a_fault_is_recognised_by_its_status(chat: Chatting, status: int, is_temporary: bool) -> None:
    async with canned(http(status, '{"error": {"message": "about my secret"}}')) as url:
        with pytest.raises(LLMError, match=f"model 'm' with status {status}") as caught:
            await chat(url).chat(CALL)
    assert (caught.value.status, is_transport_error(caught.value)) == (status, is_temporary)
    assert "my secret" in caught.value.detail
    assert "secret" not in repr(caught.value)


async def test_no_message_shows_the_credentials_of_the_url(chat: Chatting) -> None:
    async with canned(http(500, "")) as url:
        with pytest.raises(LLMError) as caught:
            await chat(url.replace("//", "//me:hidden@")).chat(CALL)
    assert "hidden" not in repr(caught.value)


async def test_a_reply_of_another_shape_is_an_error_that_quotes_nothing(chat: Chatting) -> None:
    found = {
        "about my secret": r"body is wrong \(json_invalid\)",
        '{"choices": []}': r"choices is wrong \(too_short\)",
        '{"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "my secret"}]}}]}': (
            r"choices\.0\.logprobs\.content\.0\.logprob is wrong \(missing\)"
        ),
        '{"choices": [{"message": {"content": ["my secret"]}}]}': r"choices\.0\.message\.content is wrong",
    }
    for body, message in found.items():
        async with canned(http(200, body)) as url:
            with pytest.raises(LLMError, match=message) as caught:
                await chat(url).chat(CALL)
        assert "secret" not in repr(caught.value)


async def test_a_reply_without_text_is_an_error(chat: Chatting) -> None:
    body = {"choices": [{"message": {"content": None, "reasoning_content": "hm"}, "finish_reason": "length"}]}
    async with canned(http(200, json.dumps(body))) as url:
        with pytest.raises(LLMError, match=r"answered without text \(finish_reason 'length'\)"):
            await chat(url).chat(CALL)


async def test_no_repr_contains_the_api_key(chat: Chatting) -> None:
    model = chat("http://127.0.0.1:1/v1/")
    with pytest.raises(httpx.ConnectError) as caught:
        await model.chat(CALL)
    assert "sk-top" not in f"{model!r} {vars(model)!r} {caught.value!r}"


async def test_a_stream_is_put_together_as_the_whole_reply(chat: Chatting) -> None:
    logprobs = [{"logprob": -0.1, "top_logprobs": [{"logprob": -0.1}]}] * 2
    pieces: list[str] = []
    async with ScriptedOpenAI(pieces=("By ", "oxygen."), logprobs=logprobs) as server:
        reply = await chat(server.url).chat(CALL.model_copy(update={"top_logprobs": 1}), pieces.append)

    assert (pieces, reply.text, reply.stop_reason) == (["By ", "oxygen."], "By oxygen.", "stop")
    assert (reply.prompt_tokens, reply.reply_tokens, reply.tokens is None) == (7, 2, False)
    assert server.asked[0]["stream_options"] == {"include_usage": True}


async def test_an_error_within_a_stream_quotes_nothing(chat: Chatting) -> None:
    body = 'data: {"choices": [{"delta": {"content": "By"}}]}\n\ndata: {"error": {"message": "my secret"}}\n\n'
    reply = http(200, body).replace(b"application/json", b"text/event-stream")
    async with canned(reply) as url:
        with pytest.raises(LLMError, match="model 'm' with an error") as caught:
            await chat(url).chat(CALL, lambda text: None)
    assert ("my secret" in caught.value.detail, "secret" in repr(caught.value)) == (True, False)
