"""The contract of every ChatModel. New ones are added to the list."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

import httpx
import jsonschema
import pytest

from adapters.ollama import OllamaChat
from adapters.openai import OpenAIChat
from adapters.weights import PACKAGED_LLM
from schemas.errors import LLMError, LLMTimeoutError
from schemas.values.chat import ChatCall, Message
from stages.ports import ChatModel
from tests.canned import canned, http
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply
from tests.scripted_openai import ScriptedOpenAI
from tests.started import started

NOWHERE = "http://127.0.0.1:1"
SECRET = "I told nobody about the lighthouse"
CALL = ChatCall(
    model=PACKAGED_LLM,
    messages=(Message(role="system", content="Answer in one sentence."), Message(role="user", content=SECRET)),
    max_tokens=24,
)
VERDICT = {
    "type": "object",
    "properties": {"decision": {"enum": ["accept", "reject", "unsure"]}},
    "required": ["decision"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Chats:
    """One implementation in four states."""

    working: ChatModel
    slow: ChatModel
    refusing: ChatModel
    unreachable: ChatModel


@pytest.fixture(scope="module")
def openai_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of llama.cpp's own OpenAI-compatible server over the packaged model."""
    log = tmp_path_factory.mktemp("openai_server") / "log"
    command = ("-m", "tests.llama_server")
    with started(*command, ready_line=r"listening at http://127.0.0.1:(\d+)", log=log) as server:
        yield f"{server.url}/v1"


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.servers) for name in ("ollama", "openai")])
async def chats(request: pytest.FixtureRequest) -> AsyncIterator[Chats]:
    async with AsyncExitStack() as stack:
        slow_url = await stack.enter_async_context(canned(http(200, "{}"), delay_s=60))
        refusing_url = await stack.enter_async_context(canned(http(400, json.dumps({"error": f"what is {SECRET}"}))))
        adapter = OllamaChat if request.param == "ollama" else OpenAIChat
        urls = [request.getfixturevalue(f"{request.param}_url"), slow_url, refusing_url, NOWHERE]
        adapters = [adapter(url) for url in urls]
        for made in adapters:
            stack.push_async_callback(made.close)
        yield Chats(*adapters)


@asynccontextmanager
async def scripted(backend: str, reply: ScriptedReply, **of_openai: Any) -> AsyncIterator[ChatModel]:
    """A model of a server that replies as it is told, and never reports log probabilities."""
    if backend == "openai":
        async with ScriptedOpenAI(**of_openai) as server:
            openai = OpenAIChat(server.url)
            yield openai
            await openai.close()
    else:
        with ScriptedOllama() as ollama:
            ollama.models[PACKAGED_LLM] = ScriptedModel(PACKAGED_LLM, lambda prompt: reply)
            chat = OllamaChat(f"http://127.0.0.1:{ollama.port}")
            yield chat
            await chat.close()


async def test_a_reply_reports_its_tokens_and_time_and_is_repeated_at_temperature_0(chats: Chats) -> None:
    reply, again = await chats.working.chat(CALL), await chats.working.chat(CALL)
    found = await chats.working.identity(PACKAGED_LLM)

    assert (reply.text != "", reply.model, reply.stop_reason in ("stop", "length")) == (True, PACKAGED_LLM, True)
    assert (reply.prompt_tokens or 0) > 0
    assert 0 < (reply.reply_tokens or 0) <= 24
    assert reply.seconds >= 0
    assert (reply.text, reply.stop_reason) == (again.text, again.stop_reason)
    assert (found.model, found.digest) == (PACKAGED_LLM, reply.digest)
    assert found.server
    assert found.digest or found.listed
    assert await chats.working.identity(PACKAGED_LLM) == found


async def test_the_reply_conforms_to_the_schema_and_in_json_mode_is_an_object(chats: Chats) -> None:
    reply = await chats.working.chat(CALL.model_copy(update={"json_schema": VERDICT, "max_tokens": 100}))
    jsonschema.validate(json.loads(reply.text), VERDICT)

    question = Message(role="user", content='Is water wet? Answer with a JSON object of one key, "wet".')
    call = ChatCall(model=PACKAGED_LLM, messages=(question,), json_mode=True, max_tokens=200)
    assert isinstance(json.loads((await chats.working.chat(call)).text), dict)


async def test_the_pieces_of_a_stream_are_the_reply_and_neither_they_nor_token_signals_change_it(chats: Chats) -> None:
    call = CALL.model_copy(update={"top_logprobs": 5})
    pieces: list[str] = []

    plain, whole = await chats.working.chat(CALL), await chats.working.chat(call)
    streamed = await chats.working.chat(call, pieces.append)

    assert ("".join(pieces), "" in pieces) == (streamed.text, False)
    assert len(pieces) > 1
    unclocked = {"seconds": 0.0, "tokens": None}
    assert streamed.model_copy(update=unclocked) == whole.model_copy(update=unclocked)
    assert (plain.tokens, whole.text) == (None, plain.text)
    assert streamed.tokens is not None and whole.tokens is not None
    assert streamed.tokens.model_dump() == pytest.approx(whole.tokens.model_dump(), abs=1e-6)
    assert 0 < whole.tokens.msp <= 1
    assert 0 <= whole.tokens.pe <= math.log(5)
    assert whole.tokens.energy <= 1e-6


BACKENDS = pytest.mark.parametrize("backend", ["ollama", "openai"])


@BACKENDS
async def test_a_stream_that_breaks_off_is_a_transport_error(backend: str) -> None:
    pieces: list[str] = []
    async with scripted(backend, ScriptedReply("Yes and no", hang_up=True), pieces=("Yes", " and")) as chat:
        with pytest.raises(httpx.TransportError):
            await chat.chat(CALL, pieces.append)
    assert pieces[0] == "Yes"


@BACKENDS
async def test_a_server_without_log_probabilities_is_no_error(backend: str) -> None:
    async with scripted(backend, ScriptedReply("Yes."), text="Yes.") as chat:
        reply = await chat.chat(CALL.model_copy(update={"top_logprobs": 5}))
    assert (reply.text, reply.tokens) == ("Yes.", None)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_call_fails_without_a_piece_of_text_and_quotes_nothing(chats: Chats, is_stream: bool) -> None:
    pieces: list[str] = []
    on_text = pieces.append if is_stream else None
    with pytest.raises(LLMTimeoutError, match=r"timed out after 0\.1s"):
        await chats.slow.chat(CALL.model_copy(update={"timeout_s": 0.1}), on_text)
    with pytest.raises(LLMError) as refused:
        await chats.refusing.chat(CALL, on_text)
    with pytest.raises((ConnectionError, httpx.TransportError)):
        await chats.unreachable.chat(CALL, on_text)

    assert (refused.value.status, pieces) == (400, [])
    assert SECRET not in f"{refused.value} {refused.value!r}"


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("adapter", [OllamaChat, OpenAIChat])
async def test_a_cancelled_call_closes_its_connection_so_that_the_server_stops(
    adapter: Callable[[str], OllamaChat | OpenAIChat], is_stream: bool
) -> None:
    asked, left = asyncio.Event(), asyncio.Event()
    listed = {"data": [{"id": CALL.model}], "models": [{"model": CALL.model}], "model_info": {}}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length:")[2].partition("\r\n")[0] or 0))
            if "chat" not in head.partition("\r\n")[0]:
                writer.write(http(200, json.dumps(listed)))
                return
            asked.set()
            assert await reader.read() == b""
            left.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        chat = adapter(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        call = asyncio.ensure_future(chat.chat(CALL, (lambda text: None) if is_stream else None))
        async with asyncio.timeout(30):
            await asked.wait()
            call.cancel()
            await left.wait()
        await chat.close()
