"""Attacks on the API that docs/api-security.md lists, and what happens."""

from typing import Final

import httpx

from api.context import ApiContext
from tests.api.rest.problems import problem

RUN: Final = "/rag/expansion/run"
MANUAL: Final = "/rag/expansion/manual"
JSON: Final = {"Content-Type": "application/json", "Prefer": "respond-async"}
INVALID: Final = (422, "request-invalid")


async def test_a_question_that_is_no_text_is_refused_and_nothing_is_stored(client: httpx.AsyncClient) -> None:
    for value in [
        r'"a\ud83db"',
        r'"a\u0000b"',
        r'"a", "query": "b"',
        "1e400",
        "NaN",
        '"' + "a" * 2001 + '"',
        "[" * 50_000,
    ]:
        for path, more in ((RUN, '"n": 3'), (MANUAL, '"llm_response": "{}"')):
            sent = f'{{"corpus": "small", {more}, "query": {value}}}'
            assert problem(await client.post(path, content=sent, headers=JSON)) == INVALID
        assert (await client.get("/rag/queries")).json()["total"] == 0


async def test_a_pasted_expansion_that_cannot_be_stored_is_refused(client: httpx.AsyncClient) -> None:
    for intent in [r'"\ud83d"', r'"\u0000"', '"a", "intent": "b"', "1e400"]:
        pasted = f'{{"queries": ["a b c"], "hyde_answer": "x", "entities": [], "intent": {intent}}}'
        reply = await client.post(MANUAL, json={"corpus": "small", "query": "Why?", "llm_response": pasted})

        assert problem(reply) == (400, "reply-unusable")
        assert (await client.get("/rag/queries")).json()["total"] == 0


async def test_a_body_or_a_name_that_is_no_text_is_refused(client: httpx.AsyncClient) -> None:
    for body in [b'{"query": "\xff"}', rb'{"query": "a", "\ud83d": 2}']:
        assert problem(await client.post("/rag/expansion/prompt", content=body, headers=JSON)) == INVALID


async def test_more_event_streams_than_the_limit_are_refused(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    ctx.streams.open = 256
    reply = await client.get("/events")

    assert (problem(reply), reply.headers["Retry-After"]) == ((503, "too-many-streams"), "10")


async def test_a_form_of_20_000_fields_is_refused(client: httpx.AsyncClient) -> None:
    parts = b"".join(b'--x\r\nContent-Disposition: form-data; name="f%d"\r\n\r\na\r\n' % n for n in range(20_000))
    sent = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = await client.post("/corpora/files", content=parts + b"--x--\r\n", headers=sent)

    assert problem(reply) == (400, "bad-request")
