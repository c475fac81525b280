"""The scripted server stands for Ollama: the client of Ollama reads it, and what ragq sends is what that client sends.

`tests/stack/test_llm_server.py` asks the server of `ragq up` by the same client.
"""

from collections.abc import AsyncIterator, Iterator

import ollama
import pytest
from ollama._types import ChatRequest, EmbedRequest, ShowRequest
from pydantic import BaseModel

from adapters.ollama import OllamaChat, OllamaEmbedder
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_LLM
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, Message
from stages.failures import is_transport_error
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

GREET = [{"role": "user", "content": "Greet the keeper."}]
CALL = ChatCall(model=PACKAGED_LLM, messages=(Message(role="user", content="Greet the keeper."),), max_tokens=8)
#: Fields of a chat that Ollama's server reads and its client lacks.
SERVER_ALONE = {"truncate", "shift"}


@pytest.fixture
def scripted() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        for name in (PACKAGED_LLM, PACKAGED_EMBEDDER):
            server.models[name] = ScriptedModel(name, lambda prompt: ScriptedReply("Good evening, keeper."))
        yield server


@pytest.fixture
async def client(scripted: ScriptedOllama) -> AsyncIterator[ollama.AsyncClient]:
    async with ollama.AsyncClient(f"http://127.0.0.1:{scripted.port}") as connected:
        yield connected


async def test_the_client_of_ollama_reads_every_answer(client: ollama.AsyncClient) -> None:
    whole = await client.chat(PACKAGED_LLM, GREET)
    *pieces, last = [piece async for piece in await client.chat(PACKAGED_LLM, GREET, stream=True)]
    assert whole.message.content == "".join(piece.message.content or "" for piece in pieces) == "Good evening, keeper."
    assert ([piece.done for piece in pieces], last.done, last.message.content) == ([False] * 3, True, "")
    assert (last.done_reason, last.eval_count) == (whole.done_reason, whole.eval_count) == ("stop", 5)

    assert len((await client.embed(PACKAGED_EMBEDDER, ["one", "two"])).embeddings) == 2
    assert {one.model: one.digest for one in (await client.list()).models}[PACKAGED_LLM]
    assert any(name.endswith(".context_length") for name in (await client.show(PACKAGED_LLM)).modelinfo or {})


async def test_the_client_of_ollama_reads_every_refusal(client: ollama.AsyncClient, scripted: ScriptedOllama) -> None:
    for ask in (client.chat("nobody", GREET), client.embed("nobody", "a"), client.show("nobody")):
        with pytest.raises(ollama.ResponseError, match="nobody") as missing:
            await ask
        assert missing.value.status_code == 404
    scripted.models[PACKAGED_LLM] = ScriptedModel(PACKAGED_LLM, lambda prompt: ScriptedReply("busy", status=503))
    with pytest.raises(ollama.ResponseError, match="busy") as busy:
        await client.chat(PACKAGED_LLM, GREET)
    assert busy.value.status_code == 503


async def test_an_error_in_the_middle_of_a_stream_is_a_fault_that_may_pass(
    client: ollama.AsyncClient, scripted: ScriptedOllama
) -> None:
    """Its status is 200 by then, and the last line is an object with nothing but an error."""
    secret = "it said Good evening"
    scripted.models[PACKAGED_LLM] = ScriptedModel(
        PACKAGED_LLM, lambda prompt: ScriptedReply("Good evening", stream_error=secret)
    )
    with pytest.raises(ollama.ResponseError, match=secret):
        _ = [piece async for piece in await client.chat(PACKAGED_LLM, GREET, stream=True)]
    chat = OllamaChat(f"http://127.0.0.1:{scripted.port}")
    pieces: list[str] = []

    with pytest.raises(LLMError) as caught:
        await chat.chat(CALL, pieces.append)

    await chat.close()
    assert (pieces[0], is_transport_error(caught.value), caught.value.detail) == ("Good", True, secret)
    assert "ended its reply for model" in str(caught.value)
    assert secret not in str(caught.value)


async def test_what_ragq_sends_is_what_the_client_of_ollama_sends(scripted: ScriptedOllama) -> None:
    url = f"http://127.0.0.1:{scripted.port}"
    chat, embedder = OllamaChat(url), OllamaEmbedder(PACKAGED_EMBEDDER, url=url)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    for call in (CALL, CALL.model_copy(update={"json_schema": schema, "top_logprobs": 5, "sample": 2})):
        await chat.chat(call)
        await chat.chat(call, lambda piece: None)
    await embedder.embed_batch(["one", "two"], timeout_s=30, truncate=True)
    await chat.close()
    await embedder.close()

    kinds: dict[str, type[BaseModel]] = {"/api/chat": ChatRequest, "/api/embed": EmbedRequest, "/api/show": ShowRequest}
    assert {path for path, _ in scripted.requests} == set(kinds)
    for path, body in scripted.requests:
        as_client = {name: value for name, value in body.items() if path != "/api/chat" or name not in SERVER_ALONE}
        assert kinds[path].model_validate(as_client).model_dump(exclude_none=True) == as_client
    chats = [body for path, body in scripted.requests if path == "/api/chat"]
    assert [(one["stream"], one["truncate"], one["shift"]) for one in chats] == [
        (False, False, False),
        (True, False, False),
    ] * 2
