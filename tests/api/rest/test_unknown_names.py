"""Every address refuses names that it does not know, by name, instead of ignoring them."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import httpx
import pytest
from fastapi import FastAPI

from api.security.authentication import PUBLIC_PATHS

NAME: Final = "no_such_name"
#: Parameters of paths that are not numbers.
PARTS: Final = {"tag": "query_expansion", "name": "Default", "stage": "embed"}


class Operation(NamedTuple):
    """One method of one path, and whether it takes a body."""

    method: str
    path: str
    takes: list[str]


@pytest.fixture
def operations(app: FastAPI) -> list[Operation]:
    """Every operation of the API but the public ones, with media types of its body."""
    return list(_operations(app.openapi()))


def _operations(described: dict[str, Any]) -> Iterator[Operation]:
    for path, item in described["paths"].items():
        for method, operation in item.items():
            if path not in PUBLIC_PATHS:
                where = re.sub(r"\{(\w+)\}", lambda part: PARTS.get(part[1], "1"), path)
                yield Operation(method.upper(), where, list(operation.get("requestBody", {}).get("content", {})))


async def refused(client: httpx.AsyncClient, one: Operation, **sent: Any) -> list[tuple[str, str]]:
    """The invalid parts that a request is refused for."""
    reply = await client.request(one.method, one.path, **sent)
    assert reply.status_code == 422, (one, reply.status_code, reply.text)
    return [(part["where"], part["message"]) for part in reply.json()["errors"]]


async def test_an_unknown_parameter_is_named(client: httpx.AsyncClient, operations: list[Operation]) -> None:
    assert len(operations) > 40
    for one in operations:
        found = await refused(client, one, params={NAME: "1"})
        assert found == [(f"query.{NAME}", "Unknown parameter")], one


async def test_an_unknown_field_of_a_body_is_named(client: httpx.AsyncClient, operations: list[Operation]) -> None:
    taking = [one for one in operations if one.takes == ["application/json"]]
    assert taking
    for one in taking:
        assert (f"body.{NAME}", "Unknown field") in await refused(client, one, json={NAME: 1}), one


async def test_a_body_is_refused_where_none_is_taken(client: httpx.AsyncClient, operations: list[Operation]) -> None:
    without = [one for one in operations if not one.takes and one.method != "GET"]
    assert without
    for one in without:
        assert await refused(client, one, json={NAME: 1}) == [(f"body.{NAME}", "Unknown field")], one
        assert await refused(client, one, content=b"a=b") == [("body", "The address takes no body")], one


@pytest.mark.parametrize("body", [b"", b" ", b"{}", b"null"])
async def test_an_empty_body_is_no_body(client: httpx.AsyncClient, body: bytes) -> None:
    assert (await client.post("/jobs/1/retry", content=body)).status_code == 404


async def test_a_monitor_may_add_parameters(client: httpx.AsyncClient) -> None:
    assert (await client.get("/healthz", params={NAME: "1"})).status_code == 200


@pytest.mark.parametrize("path", ["/runs", "/runs/compare", "/rag", "/corpora", "/presets"])
async def test_a_page_refuses_unknown_parameters(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path, params={NAME: "1"}, headers={"accept": "text/html"})

    assert response.status_code == 422
    assert response.headers["content-type"].startswith("text/html")
    assert NAME in response.text
