"""The contract of every ChatModel. New ones are added to the list."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass

import httpx
import jsonschema
import pytest

from adapters.ollama import OllamaChat
from adapters.openai import OpenAIChat
from adapters.weights import PACKAGED_LLM
from schemas.errors import LLMError, LLMTimeoutError
from schemas.values.chat import ChatCall, Message, TokenSignals
from stages.ports import ChatModel
from tests.canned import canned, http
from tests.fakes.chat import ScriptedChat
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply
from tests.scripted_openai import ScriptedOpenAI

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


def raising(error: Exception) -> ScriptedChat:
    def answer(call: ChatCall) -> str:
        raise error

    return ScriptedChat(answer)


SERVED = [pytest.param(name, marks=pytest.mark.servers) for name in ("ollama", "openai")]


@pytest.fixture(params=["scripted", *SERVED])
async def chats(request: pytest.FixtureRequest) -> AsyncIterator[Chats]:
    if request.param == "scripted":
        sure = TokenSignals(msp=0.5, pe=0.1, energy=-0.1)
        verdict = ScriptedChat(lambda call: '{"decision": "accept"}', tokens=sure)
        slow = ScriptedChat(lambda call: "", delay_s=60)
        yield Chats(verdict, slow, raising(LLMError("No such model.", status=400)), raising(ConnectionError()))
        return
    async with AsyncExitStack() as stack:
        slow_url = await stack.enter_async_context(canned(http(200, "{}"), delay_s=60))
        refusing_url = await stack.enter_async_context(canned(http(400, json.dumps({"error": f"what is {SECRET}"}))))
        adapter = OllamaChat if request.param == "ollama" else OpenAIChat
        urls = [request.getfixturevalue(f"{request.param}_url"), slow_url, refusing_url, NOWHERE]
        adapters = [adapter(url) for url in urls]
        for made in adapters:
            stack.push_async_callback(made.close)
        yield Chats(*adapters)


@pytest.fixture(params=["scripted", "ollama", "openai"])
async def silent_chat(request: pytest.FixtureRequest) -> AsyncIterator[ChatModel]:
    """A model that answers `Yes.`, and never reports log probabilities."""
    if request.param == "scripted":
        yield ScriptedChat(lambda call: "Yes.")
    elif request.param == "openai":
        completion = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop", "logprobs": None}]}
        async with canned(http(200, json.dumps(completion))) as url:
            openai = OpenAIChat(url)
            yield openai
            await openai.close()
    else:
        with ScriptedOllama() as server:
            server.models[PACKAGED_LLM] = ScriptedModel(PACKAGED_LLM, lambda prompt: ScriptedReply("Yes."))
            ollama = OllamaChat(f"http://127.0.0.1:{server.port}")
            yield ollama
            await ollama.close()


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


async def test_the_pieces_of_a_stream_are_the_reply_and_change_nothing_of_it(chats: Chats) -> None:
    call = CALL.model_copy(update={"top_logprobs": 5})
    pieces: list[str] = []

    whole, streamed = await chats.working.chat(call), await chats.working.chat(call, pieces.append)

    assert ("".join(pieces), "" in pieces) == (streamed.text, False)
    assert len(pieces) > 1
    unclocked = {"seconds": 0.0, "tokens": None}
    assert streamed.model_copy(update=unclocked) == whole.model_copy(update=unclocked)
    assert streamed.tokens is not None and whole.tokens is not None
    assert streamed.tokens.model_dump() == pytest.approx(whole.tokens.model_dump(), abs=1e-6)


@pytest.fixture(params=["ollama", "openai"])
async def breaking_chat(request: pytest.FixtureRequest) -> AsyncIterator[ChatModel]:
    """A model whose streams break off after their first pieces."""
    if request.param == "openai":
        async with ScriptedOpenAI(pieces=("Yes", " and"), ends=False) as server:
            openai = OpenAIChat(server.url)
            yield openai
            await openai.close()
    else:
        with ScriptedOllama() as scripted:
            scripted.models[PACKAGED_LLM] = ScriptedModel(
                PACKAGED_LLM, lambda prompt: ScriptedReply("Yes and no", hang_up=True)
            )
            ollama = OllamaChat(f"http://127.0.0.1:{scripted.port}")
            yield ollama
            await ollama.close()


async def test_a_stream_that_breaks_off_is_a_transport_error(breaking_chat: ChatModel) -> None:
    pieces: list[str] = []
    with pytest.raises(httpx.TransportError):
        await breaking_chat.chat(CALL, pieces.append)
    assert pieces[0] == "Yes"


async def test_token_signals_are_given_on_request_and_change_no_text(chats: Chats) -> None:
    plain = await chats.working.chat(CALL)
    asked = await chats.working.chat(CALL.model_copy(update={"top_logprobs": 5}))
    assert (plain.tokens, asked.text) == (None, plain.text)
    assert asked.tokens is not None
    assert 0 < asked.tokens.msp <= 1
    assert 0 <= asked.tokens.pe <= math.log(5)
    assert asked.tokens.energy <= 1e-6


async def test_a_server_without_log_probabilities_is_no_error(silent_chat: ChatModel) -> None:
    reply = await silent_chat.chat(CALL.model_copy(update={"top_logprobs": 5}))
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
async def test_a_cancelled_call_closes_its_connection_so_that_the_server_stops(is_stream: bool) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if head.startswith("get"):
                writer.write(http(200, json.dumps({"data": [{"id": CALL.model}]})))
                return
            await reader.readexactly(int(head.partition("content-length:")[2].partition("\r\n")[0]))
            asked.set()
            assert await reader.read() == b""
            left.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        chat = OpenAIChat(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        call = asyncio.ensure_future(chat.chat(CALL, (lambda text: None) if is_stream else None))
        async with asyncio.timeout(30):
            await asked.wait()
            call.cancel()
            await left.wait()
        await chat.close()


@pytest.mark.parametrize("is_stream", [False, True])
async def test_ollama_stops_when_a_call_is_cancelled(is_stream: bool) -> None:
    with ScriptedOllama() as server:
        model = server.model(lambda prompt: ScriptedReply(delay_s=60))
        chat = OllamaChat(f"http://127.0.0.1:{server.port}")
        call = CALL.model_copy(update={"model": model.name})
        asked = asyncio.ensure_future(chat.chat(call, (lambda text: None) if is_stream else None))
        async with asyncio.timeout(30):
            while not model.calls:  # noqa: ASYNC110  (the server has threads)
                await asyncio.sleep(0.05)
            asked.cancel()
            while not model.abandoned:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await chat.close()
