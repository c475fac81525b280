"""Authentication in the OpenAPI description."""

from typing import Any

import pytest
from fastapi import FastAPI

from api.openapi import SCHEME


@pytest.fixture
def described(app: FastAPI) -> dict[str, Any]:
    @app.get("/healthz")
    async def health() -> str:
        return "ok"

    return app.openapi()


def test_a_token_or_none_is_described(described: dict[str, Any]) -> None:
    assert described["components"]["securitySchemes"][SCHEME]["scheme"] == "bearer"
    assert described["security"] == [{SCHEME: []}, {}]
    assert "security" not in described["paths"]["/guarded"]["get"]


def test_public_paths_are_described_without_a_token(described: dict[str, Any]) -> None:
    health = described["paths"]["/healthz"]["get"]

    assert health["security"] == []
