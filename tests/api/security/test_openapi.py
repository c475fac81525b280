"""The description of the API tells of its doors."""

from typing import Any

import pytest
from fastapi import FastAPI

from api.openapi import SCHEME


@pytest.fixture
def described(app: FastAPI) -> dict[str, Any]:
    @app.get("/healthz")
    async def health() -> str:
        return "ok"

    @app.put("/room")
    async def fill(chairs: list[int]) -> None: ...

    return app.openapi()


def test_a_token_is_one_way_in_and_open_doors_are_the_other(described: dict[str, Any]) -> None:
    assert described["components"]["securitySchemes"][SCHEME]["scheme"] == "bearer"
    assert described["security"] == [{SCHEME: []}, {}]
    assert "security" not in described["paths"]["/room"]["get"]


def test_refusals_at_the_door_are_described(described: dict[str, Any]) -> None:
    room = described["paths"]["/room"]

    refusals = {method: {*room[method]["responses"]} & {"401", "403", "413"} for method in room}
    assert refusals == {"get": {"401"}, "post": {"401", "403"}, "put": {"401", "403", "413"}}


def test_what_strangers_may_ask_needs_no_token(described: dict[str, Any]) -> None:
    health = described["paths"]["/healthz"]["get"]

    assert health["security"] == []
    assert "401" not in health["responses"]
