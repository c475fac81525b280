"""Errors over HTTP."""

import httpx
import pytest
from fastapi import FastAPI

from api import problems
from schemas.errors import PresetMissingError, Refused


@pytest.fixture
def failing(app: FastAPI) -> FastAPI:
    """The application with routes that fail."""

    @app.get("/missing")
    async def missing() -> None:
        raise PresetMissingError("Narrow")

    @app.get("/secret")
    async def secret() -> None:
        raise ValueError("what a participant said")

    @app.get("/number/{n}")
    async def number(n: int) -> int:
        return n

    return app


async def test_an_error_of_ours_becomes_a_problem_with_its_own_words(
    failing: FastAPI, client: httpx.AsyncClient
) -> None:
    reply = await client.get("/missing")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == problems.MEDIA_TYPE
    assert reply.json() == {
        "type": "urn:ragq:problem:preset-missing",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no preset 'Narrow'; `ragq preset list` shows those there are.",
    }


async def test_whoever_prefers_html_gets_the_problem_as_a_page(failing: FastAPI, client: httpx.AsyncClient) -> None:
    reply = await client.get("/missing", headers={"Accept": "text/html"})
    assert reply.status_code == 404
    assert reply.headers["content-type"].startswith("text/html")
    assert "There is no preset" in reply.text


async def test_an_unforeseen_error_keeps_its_words_to_itself(
    failing: FastAPI, client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = await client.get("/secret")
    assert reply.status_code == 500
    said = capsys.readouterr()
    assert "participant" not in reply.text + said.out + said.err
    assert "ValueError" in said.out + said.err


async def test_an_invalid_request_is_told_where_and_not_what(failing: FastAPI, client: httpx.AsyncClient) -> None:
    reply = await client.get("/number/secret-word")
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["where"] == "path.n"
    assert "secret-word" not in reply.text


async def test_an_unknown_path_is_a_problem_too(client: httpx.AsyncClient) -> None:
    reply = await client.get("/nowhere")
    assert (reply.status_code, reply.json()["type"]) == (404, "urn:ragq:problem:not-found")


def test_the_nearest_class_decides() -> None:
    class Nearer(Refused):
        pass

    kind = problems.kind_of(Nearer("no"))
    assert kind == problems.KINDS[Refused]
