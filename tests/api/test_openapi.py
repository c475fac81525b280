"""The OpenAPI description covers every request and reply."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import jsonschema
import pytest
from fastapi import FastAPI

from api import problems
from api.app import SCHEME, make_app
from api.context import ApiContext


class Operation(NamedTuple):
    method: str
    path: str
    described: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@pytest.fixture
def described(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


@pytest.fixture
def operations(described: dict[str, Any]) -> list[Operation]:
    return [Operation(method, path, one) for path, item in described["paths"].items() for method, one in item.items()]


async def test_it_is_served_and_the_same_in_every_process(
    ctx: ApiContext, client: httpx.AsyncClient, described: dict[str, Any]
) -> None:
    served = (await client.get("/openapi.json")).text
    assert json.loads(served) == described
    assert json.dumps(make_app(ctx).openapi()) == json.dumps(described)


def test_examples_are_what_their_schemas_ask_for(operations: list[Operation], described: dict[str, Any]) -> None:
    wrong = [
        f"{where}: {error.json_path} {error.message}"
        for where, schema, examples in _contents(operations, described)
        for example in examples
        for error in _validator(schema, described).iter_errors(example)
    ]
    assert wrong == []


def test_other_statuses_are_problems_tokens_are_described_where_one_is_needed_and_references_resolve(
    operations: list[Operation], described: dict[str, Any]
) -> None:
    replies = [one.described["responses"]["default"] for one in operations]
    assert [list(reply["content"]) for reply in replies] == [[problems.MEDIA_TYPE]] * len(operations)
    assert described["components"]["securitySchemes"][SCHEME]["scheme"] == "bearer"
    assert described["security"] == [{SCHEME: []}, {}]
    assert "security" not in described["paths"]["/runs"]["get"]
    assert described["paths"]["/healthz"]["get"]["security"] == []
    components = described["components"]["schemas"]
    assert set(_references(described)) <= {f"#/components/schemas/{name}" for name in components}


def _contents(
    operations: list[Operation], described: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """What goes in and out as JSON: where, its schema, and its examples."""
    for one in operations:
        for name, part in {"body": one.described.get("requestBody", {}), **one.described["responses"]}.items():
            content = part.get("content", {}).get("application/json")
            if content is not None:
                named = [example["value"] for example in content.get("examples", {}).values()]
                yield f"{one}: {name}", content["schema"], named


def _validator(schema: dict[str, Any], described: dict[str, Any]) -> jsonschema.Draft202012Validator:
    whole = {**schema, "components": described["components"]}
    return jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)
