"""The reference of the REST API as a page."""

import re
import shlex

import httpx
import pytest
from fastapi import FastAPI

from api.reference import reference

DOCS = "/docs"


@pytest.fixture
async def shown(client: httpx.AsyncClient) -> str:
    """The page."""
    reply = await client.get(DOCS, headers={"Accept": "text/html"})
    assert reply.status_code == 200
    return reply.text


def test_every_operation_is_in_a_group_once(app: FastAPI) -> None:
    described = app.openapi()
    found = [(one.method, one.path) for group in reference(described).groups for one in group.operations]
    assert sorted(found) == sorted(
        (method.upper(), path) for path, item in described["paths"].items() for method in item
    )


async def test_every_operation_and_every_object_has_a_place_of_its_own(app: FastAPI, shown: str) -> None:
    described = app.openapi()
    ids = re.findall(r'id="([^"]+)"', shown)
    assert len(ids) == len(set(ids))
    names = {one["operationId"] for item in described["paths"].values() for one in item.values()}
    assert names | {f"schema-{name}" for name in described["components"]["schemas"]} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', shown)) <= set(ids)


async def test_parameters_bodies_replies_and_problems_are_shown(shown: str) -> None:
    _, _, rest = shown.partition('id="run_augmented_prompt"')
    operation = rest.partition("</details>")[0]
    assert "Build the prompt and ask the model." in operation
    for words in (
        "integer, at least 1, at most 20",
        'href="#schema-AnswerRequest"',
        "Reply 200",
        "Reply 202",
        "409, 413",
    ):
        assert words in operation, words


async def test_the_commands_are_accepted(client: httpx.AsyncClient, app: FastAPI) -> None:
    """What is read is there or missing; a body and every value in an address are valid."""
    statuses = {}
    for group in reference(app.openapi()).groups:
        for one in group.operations:
            words = shlex.split(one.curl)
            if "-F" in words or one.path.endswith("events"):
                continue
            (address,) = [word.removeprefix("$API") for word in words if word.startswith("$API")]
            body = words[words.index("-d") + 1] if "-d" in words else None
            headers = {"Prefer": "respond-async", "Content-Type": "application/json"}
            reply = await client.request(one.method, address, content=body, headers=headers)
            statuses[f"{one.method} {address}"] = reply.status_code
    assert len(statuses) > 50
    assert {name: status for name, status in statuses.items() if status in (405, 422)} == {}
    assert all(status < 500 for name, status in statuses.items() if name != "GET /readyz")


async def test_nothing_of_a_description_becomes_markup(app: FastAPI, client: httpx.AsyncClient) -> None:
    @app.get("/odd", tags=["runs"], summary="<b>odd</b>", description="`<i>` <script>")
    async def odd() -> None: ...

    page = (await client.get(DOCS)).text
    assert "<b>odd" not in page and "<script>" not in page and "<i>" not in page
    assert "&lt;b&gt;odd" in page
