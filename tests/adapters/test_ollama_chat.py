import asyncio
import json
from collections.abc import Callable

import pytest

from adapters.ollama import OllamaChat, context_tokens
from adapters.weights import PACKAGED_LLM, sha256_of
from schemas.errors import LLMError
from schemas.values.chat import ChatCall
from stack.embedded_llm import embedded_weights
from tests.adapters.conftest import Closing
from tests.canned import http

Chatting = Callable[[str], OllamaChat]


@pytest.fixture
def chat(closing: Closing) -> Chatting:
    """Makes chat models of a URL."""
    return lambda url: closing(OllamaChat(url))


class Recorder:
    """A fake Ollama server of one model `m`, which records the bodies of the chat requests."""

    def __init__(
        self, *, context_length: int = 32768, prompt_eval_count: int = 7, content: str | None = "Yes."
    ) -> None:
        self.requests: list[dict[str, object]] = []
        self._replies = {
            "/api/tags": {"models": [{"model": "m", "digest": "d1"}]},
            "/api/show": {"model_info": {"gemma3.context_length": context_length}},
            "/api/chat": {
                "message": {"role": "assistant", "content": content},
                "done_reason": "stop",
                "prompt_eval_count": prompt_eval_count,
                "eval_count": 2,
            },
        }

    async def __aenter__(self) -> "Recorder":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = head.partition("content-length:")[2].partition("\r\n")[0]
        body = await reader.readexactly(int(length or 0))
        path = head.split()[1]
        if path == "/api/chat":
            self.requests.append(json.loads(body))
        writer.write(http(200, json.dumps(self._replies[path])))
        await writer.drain()
        writer.close()


def asking(content: str, **fields: object) -> ChatCall:
    return ChatCall.model_validate({"model": "m", "messages": [{"role": "user", "content": content}], **fields})


async def test_a_call_is_sent_whole_with_truncation_off(chat: Chatting) -> None:
    async with Recorder() as server:
        await chat(server.url).chat(asking("Am I?", temperature=0.2, sample=3, max_tokens=50))
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Am I?"}],
            "tools": [],
            "stream": False,
            "options": {"temperature": 0.2, "seed": 3, "num_ctx": 4096, "num_predict": 50},
            "truncate": False,
            "shift": False,
        }
    ]


async def test_the_digest_of_the_packaged_model_is_that_of_its_file(chat: Chatting, ollama_url: str) -> None:
    assert (await chat(ollama_url).identity(PACKAGED_LLM)).digest == sha256_of(embedded_weights())


async def test_an_unknown_model_is_named_with_the_way_to_fetch_it(chat: Chatting, ollama_url: str) -> None:
    for ask in (chat(ollama_url).identity("m"), chat(ollama_url).chat(asking("a"))):
        with pytest.raises(LLMError, match=r"has no model 'm'. It has: .*--profile demo") as caught:
            await ask
        assert caught.value.status == 404


async def test_a_prompt_longer_than_the_model_is_refused_and_not_cut(chat: Chatting, ollama_url: str) -> None:
    with pytest.raises(LLMError, match=f"longer than the context of model '{PACKAGED_LLM}'.*nothing was cut") as caught:
        await chat(ollama_url).chat(asking("word " * 9000, model=PACKAGED_LLM))
    assert caught.value.status == 400


async def test_a_reply_without_text_is_an_error(chat: Chatting) -> None:
    async with Recorder(content=None) as server:
        with pytest.raises(LLMError, match=r"Model 'm' at .* answered without text"):
            await chat(server.url).chat(asking("a"))


async def test_the_context_grows_and_never_shrinks(chat: Chatting) -> None:
    async with Recorder() as server:
        model = chat(server.url)
        for length in (10, 20_000, 10, 10_000_000):
            await model.chat(asking("a" * length))
    # 20,000 bytes are at most 10,000 tokens, and the reply needs space too; the context of the model is 32,768.
    contexts = [request["options"]["num_ctx"] for request in server.requests]  # type: ignore[index]
    assert contexts == [4096, 16384, 16384, 32768]


@pytest.mark.parametrize(
    ("content", "max_tokens", "expected"),
    [
        ("", None, 4096),
        ("a" * 6016, None, 4096),  # 3008 + 64 + 1024 = 4096
        ("a" * 6018, None, 8192),  # one token more
        ("ß" * 3009, None, 8192),  # bytes count, not characters
        ("a" * 6018, 1000, 4096),
    ],
)
def test_context_tokens_hold_prompt_and_reply(content: str, max_tokens: int | None, expected: int) -> None:
    assert context_tokens(asking(content, max_tokens=max_tokens)) == expected
