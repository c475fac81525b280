"""Errors over HTTP, and the attacks on the API that docs/api-security.md lists."""

import json
import sys
from collections.abc import Iterator
from typing import get_args

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

import cli.main
from api import problems
from api.context import ApiContext
from api.parameters import Body
from schemas.errors import DomainError, RagqError, Refused, Slug, StackError
from store.questions.presets import preset_missing
from tests.api.rest.problems import problem


class Strict(Body):
    n: int


class Numbers(Body):
    one: int = 0
    some: list[int] | None = None
    weight: float = 0.0


@pytest.fixture
def failing(app: FastAPI) -> FastAPI:
    """The application with routes that fail."""

    @app.get("/ui/missing")
    @app.get("/missing")
    async def missing() -> None:
        raise preset_missing("Narrow")

    @app.get("/secret")
    async def secret() -> None:
        raise ValueError("what a participant said")

    @app.get("/number/{n}")
    async def number(n: int) -> int:
        return n

    @app.post("/strict")
    async def strict(body: Strict) -> int:
        return body.n

    return app


async def test_an_error_of_ragq_becomes_a_problem_and_a_page_and_another_does_not_show_its_message(
    failing: FastAPI, client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = await client.get("/missing")
    page = await client.get("/ui/missing")
    secret = await client.get("/secret")

    assert (reply.status_code, reply.headers["content-type"]) == (404, problems.MEDIA_TYPE)
    assert reply.json() == {
        "type": "urn:ragq:problem:preset-missing",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no preset 'Narrow'; `ragq preset list` shows those there are.",
    }
    assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert "There is no preset" in page.text
    output = capsys.readouterr()
    assert secret.status_code == 500
    assert "participant" not in secret.text + output.out + output.err
    assert "ValueError" in output.out + output.err


async def test_an_invalid_request_gets_places_of_one_short_line_and_no_values(
    failing: FastAPI, client: httpx.AsyncClient
) -> None:
    number = await client.get("/number/secret-word")
    field = await client.post("/strict", json={"n": 1, "config_prest": "secret-word"})
    assert (number.status_code, number.json()["errors"][0]["where"]) == (422, "path.n")
    assert (field.status_code, field.json()["errors"]) == (
        422,
        [{"where": "body.config_prest", "message": "Unknown field"}],
    )
    assert field.json()["detail"].startswith("body.config_prest: Unknown field.")
    assert "secret-word" not in number.text + field.text
    for name, shown in [("a\nb\x1b[2J", "a?b?[2J"), ("x" * 10_000, "x" * 80), ("<script>", "<script>")]:
        sent = json.dumps({"n": 1, name: 2})
        reply = await client.post("/strict", content=sent, headers={"Content-Type": "application/json"})
        assert (reply.status_code, [wrong["where"] for wrong in reply.json()["errors"]]) == (422, [f"body.{shown}"])


def test_every_slug_has_a_status_and_the_nearest_class_decides() -> None:
    assert set(get_args(Slug)) | {kind.slug for kind in kinds_of(RagqError)} == set(problems.STATUSES)

    class Nearer(Refused):
        pass

    assert problems.kind_of(Nearer("no")) == (409, "refused")


def kinds_of(base: type[RagqError]) -> Iterator[type[RagqError]]:
    yield base
    for one in base.__subclasses__():
        yield from kinds_of(one)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("error", [Refused("no", slug="run-active"), StackError("no"), DomainError("no")])
def test_an_error_ends_a_command_with_its_slug_in_json(
    error: RagqError, as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ragq", "runs", *(["--json"] if as_json else [])])
    monkeypatch.setattr(cli.main.cli, "main", lambda prog_name: (_ for _ in ()).throw(error))

    with pytest.raises(SystemExit, match=r"^1$"):
        cli.main.main()
    printed = capsys.readouterr()

    assert printed.err == "ragq: no\n"
    expected = {"type": f"urn:ragq:problem:{error.slug}", "detail": "no"}
    assert (json.loads(printed.out) if as_json else printed.out) == (expected if as_json else "")


def test_a_number_without_a_fraction_and_nothing_else_is_whole() -> None:
    read = Numbers.model_validate({"one": 14.0, "some": [2.0, 3], "weight": 1.0})
    assert read.model_dump_json() == '{"one":14,"some":[2,3],"weight":1.0}'
    for given in (14.5, True, "14", None):
        with pytest.raises(ValidationError):
            Numbers.model_validate({"one": given})


RUN = "/rag/expansion/run"
MANUAL = "/rag/expansion/manual"
JSON = {"Content-Type": "application/json", "Prefer": "respond-async"}
INVALID = (422, "request-invalid")


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
