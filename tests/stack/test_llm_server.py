"""The embedded language model: its server, asked by Ollama's client, and llama.cpp's own terms."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_EMBEDDER_SHA256, PACKAGED_LLM, llm_file, sha256_of
from schemas.values.participants import PHQ8Item
from stack.llm_server import ChatRequest
from stages.participants.score_reply import evidence_json_schema, score_json_schema
from stages.replies.asking import VERDICT_JSON_SCHEMA
from tests.started import started_llm_server

GREET: list[dict[str, str]] = [{"role": "user", "content": "Greet the lighthouse keeper in one sentence."}]
STEADY: dict[str, Any] = {"temperature": 0, "num_predict": 24}
LONG: dict[str, Any] = {
    "model": PACKAGED_LLM,
    "messages": GREET,
    "format": {"type": "array", "minItems": 1000, "items": {"enum": ["the light of a lighthouse"]}},
    "options": {"temperature": 0, "num_predict": 6000},
}
"""Takes a minute at least: the grammar does not let the reply end before."""


@pytest.fixture
async def client(ollama_url: str) -> AsyncIterator[ollama.AsyncClient]:
    async with ollama.AsyncClient(ollama_url) as connected:
        yield connected


@pytest.fixture
async def web(ollama_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=ollama_url, timeout=60) as connected:
        yield connected


async def test_both_models_are_listed_with_the_digests_of_their_weights(client: ollama.AsyncClient) -> None:
    listed = await client.list()
    assert {model.model: model.digest for model in listed.models} == {
        PACKAGED_LLM: sha256_of(llm_file()),
        f"{PACKAGED_EMBEDDER}:latest": PACKAGED_EMBEDDER_SHA256,
    }


async def test_log_probabilities_come_with_the_end_of_a_reply_when_asked_for(client: ollama.AsyncClient) -> None:
    plain = await client.chat(PACKAGED_LLM, GREET, options=STEADY)
    asked = await client.chat(PACKAGED_LLM, GREET, options=STEADY, logprobs=True, top_logprobs=3)
    stream = await client.chat(PACKAGED_LLM, GREET, options=STEADY, stream=True, logprobs=True, top_logprobs=3)
    pieces = [piece async for piece in stream]

    assert (plain.logprobs, asked.message.content) == (None, plain.message.content)
    assert asked.logprobs is not None
    assert "".join(token.token for token in asked.logprobs).startswith(asked.message.content or "nothing")
    for token in asked.logprobs:
        likeliest = [likely.logprob for likely in token.top_logprobs or ()]
        assert (len(likeliest), likeliest) == (3, sorted(likeliest, reverse=True))
        assert token.logprob <= likeliest[0] <= 0
    assert [piece.logprobs for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1].logprobs == asked.logprobs


async def test_what_a_model_cannot_do_is_refused_and_what_does_not_fit_is_not_cut(client: ollama.AsyncClient) -> None:
    long = [{"role": "user", "content": "word " * 9000}]
    refused = {
        "exceeds the context length: 302 tokens of 256": client.embed(PACKAGED_EMBEDDER, "word " * 300, truncate=False),
        r"exceeds the context length: 90\d\d tokens against 8192": client.chat(PACKAGED_LLM, long),
        r"exceeds the context length: \d\d tokens against 8 ": client.chat(PACKAGED_LLM, GREET, options={"num_ctx": 8}),
        "does not support completion": client.chat(PACKAGED_EMBEDDER, GREET),
        "does not support embedding": client.embed(PACKAGED_LLM, "a"),
        "unrecognized type": client.chat(PACKAGED_LLM, GREET, format={"type": "nonsense"}),
    }
    for message, ask in refused.items():
        with pytest.raises(ollama.ResponseError, match=message) as caught:
            await ask
        assert caught.value.status_code == 400
    assert (await client.embed(PACKAGED_EMBEDDER, "word " * 300)).prompt_eval_count == 256


async def test_a_wrong_request_is_answered_in_words(web: httpx.AsyncClient) -> None:
    for path, body, status, error in [
        ("/api/chat", "{my secret", 400, "body: Invalid JSON: key must be a string at line 1 column 2"),
        ("/api/embed", '{"model": "m"}', 400, "input: Field required"),
        ("/api/nope", "", 404, "Not Found"),
    ]:
        response = await web.post(path, content=body)
        assert (response.status_code, response.json()) == (status, {"error": error})


async def test_replies_at_the_same_time_are_those_given_alone(client: ollama.AsyncClient) -> None:
    async def ask(number: int) -> str | None:
        question = [{"role": "user", "content": f"Tell me about the number {number}. " * number}]
        return (await client.chat(PACKAGED_LLM, question, options=STEADY | {"num_predict": 8})).message.content

    alone = [await ask(number) for number in (1, 10, 3)]
    assert await asyncio.gather(*(ask(number) for number in (1, 10, 3))) == alone


async def test_a_reply_is_the_same_to_the_last_bit_after_others_that_begin_alike(client: ollama.AsyncClient) -> None:
    async def ask(question: str) -> ollama.ChatResponse:
        system = {"role": "system", "content": "You keep a lighthouse. " * 24}
        messages = [system, {"role": "user", "content": question}]
        return await client.chat(PACKAGED_LLM, messages, options=STEADY, logprobs=True, top_logprobs=3)

    first = await ask("Who are you?")
    await ask("Who is the boatman?")
    again = await ask("Who are you?")
    assert first.logprobs
    assert (again.message.content, again.logprobs) == (first.message.content, first.logprobs)


async def test_others_are_answered_while_a_chat_runs_and_a_client_that_disconnects_frees_the_model(
    client: ollama.AsyncClient, web: httpx.AsyncClient, ollama_url: str
) -> None:
    async with ollama.AsyncClient(ollama_url) as leaving:
        async for _ in await leaving.chat(**LONG, stream=True):
            assert (await web.get("/api/version", timeout=10)).json()["version"]
            break
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await client.chat(**LONG)
    began = time.monotonic()
    await client.chat(PACKAGED_LLM, GREET, options={"num_predict": 1})
    assert time.monotonic() - began < 10


@pytest.mark.servers
def test_sigterm_ends_it_cleanly_in_the_middle_of_a_reply(tmp_path: Path) -> None:
    with (
        started_llm_server(tmp_path / "log") as server,
        httpx.stream("POST", f"{server.url}/api/chat", json=LONG, timeout=60) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(httpx.RemoteProtocolError):
            list(lines)
        assert server.process.wait(15) == 0


OPEN_OBJECT = {"type": "object", "properties": {"a": {"enum": [1]}}}


def test_repetition_is_penalised_unless_there_are_choices_alone() -> None:
    with_text: list[Any] = [None, "json", score_json_schema("strict", max_text_chars=40), OPEN_OBJECT]
    closed = OPEN_OBJECT | {"additionalProperties": False}
    quotes = evidence_json_schema({PHQ8Item.SLEEP: "i lie awake"}, max_text_chars=80)
    for schemas, expected in ((with_text, 1.1), ([closed, VERDICT_JSON_SCHEMA, quotes], 1.0)):
        for schema in schemas:
            request = ChatRequest(model="m", messages=[], format=schema)
            assert request.for_llama_cpp()["repeat_penalty"] == expected
