"""The identity of a model on a server: what the ledger's key and the frozen models of a run are made of."""

from collections.abc import AsyncIterator

import httpx
import pytest

from adapters.model_lists import ollama_identity, openai_identity, retry_after_s
from adapters.ollama import OllamaChat
from adapters.openai import OpenAIChat
from schemas.errors import LLMError
from stages.models import server_name
from tests.scripted_ollama import ScriptedOllama, ScriptedReply
from tests.scripted_openai import ScriptedOpenAI

ENTRY = {
    "id": "m",
    "object": "model",
    "created": 1_700_000_000,
    "owned_by": "vllm",
    "root": "/home/me/m",
    "meta": {"n": 7},
}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("HTTPS://LLM.Example.org:443/v1/", "https://llm.example.org/v1"),
        ("https://me:secret@llm.example.org/v1?key=secret#secret", "https://llm.example.org/v1"),
        ("http://[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_a_server_has_the_name_of_its_url_without_secrets(url: str, name: str) -> None:
    assert server_name(url) == name


async def test_a_model_has_its_entry_in_the_list_of_its_server(client: httpx.AsyncClient) -> None:
    async with ScriptedOpenAI(ENTRY, {"id": "other"}) as server:
        found = await openai_identity(client, server.url, "m")

    assert (found.backend, found.server, found.model, found.digest) == ("openai", server.url, "m", "")
    assert found.listed == ({"id": "m", "owned_by": "vllm", "meta": {"n": 7}},)


@pytest.mark.parametrize(
    ("entry", "tokens"),
    [
        ({"max_model_len": 8192}, 8192),
        ({"meta": {"n_ctx_train": 32768}}, 32768),
        ({"context_length": 131072}, 131072),
        ({"context_length": "long"}, None),
        ({}, None),
    ],
)
async def test_a_model_has_the_context_that_its_server_lists(
    client: httpx.AsyncClient, entry: dict[str, object], tokens: int | None
) -> None:
    async with ScriptedOpenAI({"id": "m"} | entry) as server:
        assert (await openai_identity(client, server.url, "m")).context_tokens == tokens


async def test_a_model_of_ollama_has_the_context_that_it_shows(client: httpx.AsyncClient) -> None:
    with ScriptedOllama() as server:
        found = await ollama_identity(client, f"http://127.0.0.1:{server.port}", server.model().name)
    assert found.context_tokens == 32_768


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_may_not_read_the_list_can_chat(status: int) -> None:
    async with ScriptedOpenAI(ENTRY, list_status=status) as server:
        chat = OpenAIChat(server.url)
        found = await chat.identity("m")
        await chat.close()

    assert (found.server, found.listed) == (server.url, ())


async def test_a_list_that_is_refused_is_an_error_with_its_status(client: httpx.AsyncClient) -> None:
    async with ScriptedOpenAI(ENTRY, list_status=503) as server:
        with pytest.raises(LLMError, match="status 503") as caught:
            await openai_identity(client, server.url, "m")
    assert caught.value.status == 503


async def test_other_weights_of_an_ollama_model_are_found_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOllama() as server:
        model = server.model(lambda prompt: ScriptedReply("yes"))
        chat = OllamaChat(f"http://127.0.0.1:{server.port}")
        before = await chat.identity(model.name)
        server.digests[model.name] = "sha256:other"
        assert await chat.identity(model.name) == before
        monkeypatch.setattr("adapters.model_lists.LOOKUP_VALID_S", 0.0)
        assert (before.digest, (await chat.identity(model.name)).digest) == (f"sha256:{model.name}", "sha256:other")
        await chat.close()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 20 "}, 20.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "99999999999999999999"}, 3600.0),
        ({"Retry-After": "inf"}, 3600.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "tomorrow"}, None),
        ({"Retry-After": "Fri, 13 Mar 2026 10:00:42 GMT", "Date": "Fri, 13 Mar 2026 10:00:00 GMT"}, 42.0),
        ({"Retry-After": "Fri, 13 Mar 2020 10:00:42 GMT"}, 0.0),
        ({"Retry-After": "Fri, 13 Mar 9999 10:00:42 GMT"}, 3600.0),
        ({"Retry-After": "Fri, 99 Mar 2026 10:00:42 GMT"}, None),
    ],
)
def test_the_time_of_a_refusal_is_seconds_or_a_date_of_at_most_an_hour(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(httpx.Response(429, headers=headers)) == seconds
