"""Servers that stand for Ollama answer in its published shapes, and what ragq sends is in them too.

The scripted server of the tests and the embedded one of `ragq up` are held to the same shapes, so that neither drifts.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from adapters.ollama import OllamaChat, OllamaEmbedder
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_LLM
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, Message
from stages.failures import is_transport_error
from tests.contracts import ollama_api as api
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

ASK: dict[str, Any] = {
    "model": PACKAGED_LLM,
    "messages": [{"role": "user", "content": "Greet the keeper."}],
    "options": {"temperature": 0, "num_predict": 8},
}
CALL = ChatCall(model=PACKAGED_LLM, messages=(Message(role="user", content="Greet the keeper."),), max_tokens=8)


@pytest.fixture
def scripted() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        for name in (PACKAGED_LLM, PACKAGED_EMBEDDER):
            server.models[name] = ScriptedModel(name, lambda prompt: ScriptedReply("Good evening, keeper."))
        yield server


@pytest.fixture(params=["scripted", pytest.param("embedded", marks=pytest.mark.servers)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """A client of each server."""
    if request.param == "scripted":
        url = f"http://127.0.0.1:{request.getfixturevalue('scripted').port}"
    else:
        url = request.getfixturevalue("ollama_url")
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        yield client


async def test_a_whole_chat(server: httpx.AsyncClient) -> None:
    reply = await server.post("/api/chat", json=ASK | {"stream": False})
    assert reply.headers["content-type"].startswith("application/json")
    assert api.ChatReply.model_validate_json(reply.content).message.content


async def test_a_streamed_chat_is_one_object_a_line_and_only_the_last_has_an_end(server: httpx.AsyncClient) -> None:
    reply = await server.post("/api/chat", json=ASK)
    *events, last = reply.text.splitlines()
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    assert "".join(api.ChatEvent.model_validate_json(event).message.content for event in events)
    assert api.ChatReply.model_validate_json(last).message.content == ""


async def test_embeddings(server: httpx.AsyncClient) -> None:
    for given, rows in (("one", 1), (["one", "two"], 2)):
        reply = await server.post("/api/embed", json={"model": PACKAGED_EMBEDDER, "input": given})
        assert len(api.EmbedReply.model_validate_json(reply.content).embeddings) == rows


async def test_lists_and_descriptions_of_models(server: httpx.AsyncClient) -> None:
    listed = api.TagsReply.model_validate_json((await server.get("/api/tags")).content)
    shown = await server.post("/api/show", json={"model": PACKAGED_LLM})
    assert PACKAGED_LLM in {model.name for model in listed.models}
    assert any(name.endswith(".context_length") for name in api.ShowReply.model_validate_json(shown.content).model_info)


@pytest.mark.parametrize("path", ["chat", "embed", "show"])
async def test_an_unknown_model_is_not_found(server: httpx.AsyncClient, path: str) -> None:
    body = {"model": "nobody", "messages": [], "input": "a"} if path != "show" else {"model": "nobody"}
    reply = await server.post(f"/api/{path}", json=body)
    assert (reply.status_code, "nobody" in api.ErrorReply.model_validate_json(reply.content).error) == (404, True)


async def test_a_refusal_is_an_error_and_its_status(scripted: ScriptedOllama) -> None:
    scripted.models[PACKAGED_LLM] = ScriptedModel(PACKAGED_LLM, lambda prompt: ScriptedReply("busy", status=503))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{scripted.port}") as client:
        for stream in (True, False):
            reply = await client.post("/api/chat", json=ASK | {"stream": stream})
            assert (reply.status_code, api.ErrorReply.model_validate_json(reply.content).error) == (503, "busy")


async def test_an_error_in_the_middle_of_a_stream_is_a_fault_that_may_pass(scripted: ScriptedOllama) -> None:
    """Its status is 200 by then, and the last line is an object with nothing but an error."""
    secret = "it said Good evening"
    scripted.models[PACKAGED_LLM] = ScriptedModel(
        PACKAGED_LLM, lambda prompt: ScriptedReply("Good evening", stream_error=secret)
    )
    url = f"http://127.0.0.1:{scripted.port}"
    async with httpx.AsyncClient(base_url=url) as client:
        lines = (await client.post("/api/chat", json=ASK)).text.splitlines()
    assert api.ErrorReply.model_validate_json(lines[-1]).error == secret
    chat = OllamaChat(url)
    pieces: list[str] = []

    with pytest.raises(LLMError) as caught:
        await chat.chat(CALL, pieces.append)

    await chat.close()
    assert (pieces[0], is_transport_error(caught.value), caught.value.detail) == ("Good", True, secret)
    assert "ended its reply for model" in str(caught.value)
    assert secret not in str(caught.value)


async def test_what_ragq_sends_has_the_published_shape(scripted: ScriptedOllama) -> None:
    url = f"http://127.0.0.1:{scripted.port}"
    chat, embedder = OllamaChat(url), OllamaEmbedder(PACKAGED_EMBEDDER, url=url)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    for call in (CALL, CALL.model_copy(update={"json_schema": schema, "top_logprobs": 5, "sample": 2})):
        await chat.chat(call)
        await chat.chat(call, lambda piece: None)
    await embedder.embed_batch(["one", "two"], timeout_s=30, truncate=True)
    await chat.close()
    await embedder.close()

    kinds: dict[str, type[BaseModel]] = {
        "/api/chat": api.ChatRequest,
        "/api/embed": api.EmbedRequest,
        "/api/show": api.ShowRequest,
    }
    sent = [(path, kinds[path].model_validate_json(json.dumps(body))) for path, body in scripted.requests]
    assert {path for path, _ in sent} == set(kinds)
    chats = [body for _, body in sent if isinstance(body, api.ChatRequest)]
    assert [(one.stream, one.truncate) for one in chats] == [(False, False), (True, False)] * 2
