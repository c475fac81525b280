"""The identity of a model on a server: what the ledger's key and the frozen models of a run are made of."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from adapters.model_servers import ollama_identity, openai_identity, retry_after_s
from adapters.ollama import OllamaChat
from adapters.openai import OpenAIChat
from schemas.errors import LLMError
from stages.models import server_name
from tests.adapters.conftest import Closing
from tests.scripted_ollama import ScriptedOllama
from tests.scripted_openai import ScriptedOpenAI

ENTRY = {"id": "m", "object": "model", "created": 1_700_000_000, "owned_by": "vllm", "root": "/m", "meta": {"n": 7}}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


def test_a_server_has_the_name_of_its_url_without_secrets() -> None:
    assert server_name("HTTPS://me:secret@LLM.Example.org:443/v1/?key=secret#secret") == "https://llm.example.org/v1"
    assert server_name("http://[::1]:11434") == "http://[::1]:11434"


async def test_a_model_has_its_entry_in_the_list_of_its_server(client: httpx.AsyncClient) -> None:
    async with ScriptedOpenAI([ENTRY, {"id": "other"}]) as server:
        found = await openai_identity(client, server.url, "m")

    assert (found.backend, found.server, found.model, found.digest) == ("openai", server.url, "m", "")
    assert found.listed == ({"id": "m", "owned_by": "vllm", "meta": {"n": 7}},)


async def test_a_model_has_the_context_that_its_server_lists_or_shows(client: httpx.AsyncClient) -> None:
    entries: dict[str, dict[str, Any]] = {
        "vllm": {"max_model_len": 8192},
        "llama.cpp": {"meta": {"n_ctx_train": 32768}},
        "router": {"context_length": 131072},
        "odd": {"context_length": "long"},
        "silent": {},
    }
    async with ScriptedOpenAI([{"id": name, **entry} for name, entry in entries.items()]) as server:
        listed = {name: (await openai_identity(client, server.url, name)).context_tokens for name in entries}
    assert listed == {"vllm": 8192, "llama.cpp": 32768, "router": 131072, "odd": None, "silent": None}

    with ScriptedOllama() as ollama:
        shown = await ollama_identity(client, f"http://127.0.0.1:{ollama.port}", ollama.model().name)
    assert shown.context_tokens == 32_768


@pytest.mark.parametrize("status", [401, 403, 503])
async def test_a_refused_key_can_chat_and_another_refused_list_is_an_error(closing: Closing, status: int) -> None:
    async with ScriptedOpenAI([ENTRY], list_status=status) as server:
        chat = closing(OpenAIChat(server.url))
        if status == 503:
            with pytest.raises(LLMError, match="status 503") as caught:
                await chat.identity("m")
            assert caught.value.status == 503
        else:
            found = await chat.identity("m")
            assert (found.server, found.listed) == (server.url, ())


async def test_other_weights_are_found_after_a_minute(closing: Closing, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOllama() as server:
        model = server.model()
        chat = closing(OllamaChat(f"http://127.0.0.1:{server.port}"))
        before = await chat.identity(model.name)
        server.digests[model.name] = "sha256:other"
        assert await chat.identity(model.name) == before
        monkeypatch.setattr("adapters.model_servers.LOOKUP_VALID_S", 0.0)
        assert (before.digest, (await chat.identity(model.name)).digest) == (f"sha256:{model.name}", "sha256:other")


def test_a_refusal_has_seconds_of_at_most_an_hour() -> None:
    refusals: list[tuple[dict[str, str], float | None]] = [
        ({}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 20 "}, 20.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "inf"}, 3600.0),
        ({"Retry-After": "nan"}, None),
    ]
    assert [retry_after_s(httpx.Response(429, headers=headers)) for headers, _ in refusals] == [s for _, s in refusals]
