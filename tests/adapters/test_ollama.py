import json

import pytest
from ollama._types import ChatRequest, EmbedRequest, ShowRequest
from pydantic import BaseModel

from adapters.ollama import OllamaChat, OllamaEmbedder
from adapters.weights import PACKAGED_LLM, llm_file, sha256_of
from schemas.errors import EmbeddingValidationError, LLMError
from schemas.values.chat import ChatCall
from stages.failures import is_transport_error
from tests.adapters.conftest import Closing
from tests.canned import canned, http
from tests.scripted_ollama import ScriptedOllama, ScriptedReply


def asking(content: str, **fields: object) -> ChatCall:
    return ChatCall.model_validate({"model": "m", "messages": [{"role": "user", "content": content}], **fields})


async def test_a_call_is_sent_whole_with_truncation_off_and_a_context_that_never_shrinks(closing: Closing) -> None:
    with ScriptedOllama() as server:
        server.model(name="m")
        model = closing(OllamaChat(f"http://127.0.0.1:{server.port}"))
        await model.chat(asking("Am I?", temperature=0.2, sample=3, max_tokens=50))
        for length in (20_000, 10, 10_000_000):
            await model.chat(asking("a" * length))

    requests = [body for path, body in server.requests if path == "/api/chat"]
    assert requests[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "Am I?"}],
        "tools": [],
        "stream": False,
        "options": {"temperature": 0.2, "seed": 3, "num_ctx": 4096, "num_predict": 50},
        "truncate": False,
        "shift": False,
    }
    # 20,000 bytes are at most 6,667 tokens, and the reply needs space too; the context of the model is 32,768.
    assert [request["options"]["num_ctx"] for request in requests] == [4096, 8192, 8192, 32768]


async def test_the_packaged_model_has_the_digest_of_its_file_and_cuts_no_prompt(
    closing: Closing, ollama_url: str
) -> None:
    model = closing(OllamaChat(ollama_url))
    assert (await model.identity(PACKAGED_LLM)).digest == sha256_of(llm_file())
    with pytest.raises(LLMError, match=f"longer than the context of model '{PACKAGED_LLM}'.*nothing was cut") as caught:
        await model.chat(asking("word " * 9000, model=PACKAGED_LLM))
    assert caught.value.status == 400


async def test_an_unknown_model_is_named_with_the_way_to_fetch_it(closing: Closing, ollama_url: str) -> None:
    for ask, expected in (
        (closing(OllamaChat(ollama_url)).identity("m"), r"has no model 'm'. It has: .*--profile demo"),
        (closing(OllamaChat(ollama_url)).chat(asking("a")), r"has no model 'm'. It has: .*--profile demo"),
        (closing(OllamaEmbedder("nope", url=ollama_url)).digest(), "has no model 'nope'"),
        (
            closing(OllamaEmbedder("nope", url=ollama_url)).embed_batch(["a"], timeout_s=9, truncate=False),
            "has no model 'nope'",
        ),
    ):
        with pytest.raises(LLMError, match=expected) as caught:
            await ask
        assert caught.value.status == 404


@pytest.mark.parametrize(
    ("content", "prompt_tokens", "expected"),
    [
        (None, 7, r"Model 'm' at .* answered without text"),
        ("Yes.", 4096, "filled the context of 4096 tokens of model 'm' and may have been cut"),
    ],
)
async def test_a_reply_without_text_or_of_a_cut_prompt_is_an_error(
    closing: Closing, content: str | None, prompt_tokens: int, expected: str
) -> None:
    # Every path gets the fields of all.
    message = {"role": "assistant", "content": content}
    body = {"models": [{"model": "m"}], "model_info": {}, "message": message, "prompt_eval_count": prompt_tokens}
    async with canned(http(200, json.dumps(body))) as url:
        with pytest.raises(LLMError, match=expected):
            await closing(OllamaChat(url)).chat(asking("a"))


@pytest.mark.parametrize(
    ("body", "error", "expected"),
    [
        ('{"models": [{"model": "m"}], "embeddings": [[1.0, 0.0]]}', EmbeddingValidationError, "1 vectors for 2 texts"),
        ("my secret", LLMError, "something other than Ollama's JSON"),
        ('{"models": [{"model": "m"}], "embeddings": "my secret"}', LLMError, "something other than Ollama's JSON"),
    ],
)
async def test_vectors_of_another_shape_are_an_error_that_quotes_nothing(
    closing: Closing, body: str, error: type[Exception], expected: str
) -> None:
    async with canned(http(200, body)) as url:
        with pytest.raises(error, match=expected) as caught:
            await closing(OllamaEmbedder("m", url=url)).embed_batch(["a", "b"], timeout_s=9, truncate=False)
    assert "secret" not in repr(caught.value)


def test_only_a_refusal_says_that_a_text_is_too_long() -> None:
    said = {400: "the input length exceeds the context length", 500: "context deadline exceeded"}
    server = OllamaChat("http://127.0.0.1:1")
    assert [server.is_too_long(LLMError("", status=status, detail=text)) for status, text in said.items()] == [
        True,
        False,
    ]


#: Fields of a chat that Ollama's server reads and its client lacks.
SERVER_ALONE = ("truncate", "shift")


async def test_an_error_in_the_middle_of_a_stream_is_a_fault_that_may_pass(closing: Closing) -> None:
    """Its status is 200 by then, and the last line is an object with nothing but an error."""
    secret = "it said Good evening"
    pieces: list[str] = []
    with ScriptedOllama() as server:
        server.model(lambda prompt: ScriptedReply("Good evening", stream_error=secret), "m")
        with pytest.raises(LLMError) as caught:
            await closing(OllamaChat(f"http://127.0.0.1:{server.port}")).chat(
                asking("Greet the keeper."), pieces.append
            )

    assert (pieces[0], is_transport_error(caught.value), caught.value.detail) == ("Good", True, secret)
    assert "ended its reply for model" in str(caught.value)
    assert secret not in str(caught.value)


async def test_what_ragq_sends_is_what_the_client_of_ollama_sends(closing: Closing) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    plain = asking("Greet the keeper.", max_tokens=8)
    with ScriptedOllama() as server:
        server.model(name="m")
        url = f"http://127.0.0.1:{server.port}"
        model = closing(OllamaChat(url))
        for call in (plain, plain.model_copy(update={"json_schema": schema, "top_logprobs": 5, "sample": 2})):
            await model.chat(call)
            await model.chat(call, lambda piece: None)
        await closing(OllamaEmbedder("m", url=url)).embed_batch(["one", "two"], timeout_s=30, truncate=True)

    kinds: dict[str, type[BaseModel]] = {"/api/chat": ChatRequest, "/api/embed": EmbedRequest, "/api/show": ShowRequest}
    assert {path for path, _ in server.requests} == set(kinds)
    for path, body in server.requests:
        as_client = {name: value for name, value in body.items() if path != "/api/chat" or name not in SERVER_ALONE}
        assert kinds[path].model_validate(as_client).model_dump(exclude_none=True) == as_client
    sent = [
        (body["stream"], *(body[name] for name in SERVER_ALONE)) for path, body in server.requests if "chat" in path
    ]
    assert sent == [(False, False, False), (True, False, False)] * 2
