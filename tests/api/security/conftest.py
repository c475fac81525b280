"""Clients with and without tokens."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.app import make_app
from api.context import ApiContext
from schemas.settings.process import ProcessSettings
from store import access
from store.access import Scope

LOCAL = "127.0.0.1"
Client = Callable[..., httpx.AsyncClient]
MakeToken = Callable[..., Awaitable[str]]


@pytest.fixture
def visit(app: FastAPI, ctx: ApiContext) -> Client:
    """Makes a client that has an address, sends a token if it is given one, and asks for a host name.

    With `settings` it visits an application that has them.
    """

    def made(
        token: str | None = None,
        *,
        address: str = LOCAL,
        name: str = LOCAL,
        scheme: str = "http",
        settings: dict[str, Any] | None = None,
        **headers: str,
    ) -> httpx.AsyncClient:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        visited = guarded(make_app(replace(ctx, settings=ProcessSettings(**settings)))) if settings else app
        transport = httpx.ASGITransport(visited, raise_app_exceptions=False, client=(address, 50000))
        return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://{name}", headers=headers)

    return made


@pytest.fixture
def make_token(ctx: ApiContext) -> MakeToken:
    async def made(name: str = "laptop", scope: Scope = Scope.WRITE, lifetime: timedelta | None = None) -> str:
        return (await ctx.database.once(access.create, name, scope, lifetime=lifetime))[0]

    return made


def guarded(app: FastAPI) -> FastAPI:
    """The application with a guarded address to read and to change."""

    @app.get("/guarded")
    @app.post("/guarded")
    async def reply() -> None: ...

    return app


@pytest.fixture(autouse=True)
def guarded_routes(app: FastAPI) -> None:
    guarded(app)
