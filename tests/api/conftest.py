"""The application on real servers, asked without a network."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from api.app import make_app
from api.context import ApiContext
from schemas.settings.process import ProcessSettings
from store.database import Connection, Database
from tests.embedded import ValkeyServer
from workers.app import make_app as make_broker


@pytest.fixture
async def ctx(database_url: str, valkey: ValkeyServer) -> AsyncIterator[ApiContext]:
    """What the application under test uses: a fresh database and the broker of the session."""
    made = ApiContext(
        settings=ProcessSettings(),
        database=Database(database_url, pool_size=4),
        broker=make_broker(valkey.url),
        environment={"RAGQ_PROFILE": "demo"},
    )
    yield made
    await made.close()


@pytest.fixture
async def connection(ctx: ApiContext) -> AsyncIterator[Connection]:
    """A connection to its database, open for the whole test."""
    async with ctx.database.connection() as opened:
        yield opened


@pytest.fixture
def app(ctx: ApiContext) -> FastAPI:
    return make_app(ctx)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, which gets errors as replies."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as connected:
        yield connected
