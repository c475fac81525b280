"""Liveness and readiness."""

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from api.app import make_app
from api.context import ApiContext
from store.database import Database
from workers.app import make_app as make_broker


async def ask(app: FastAPI, path: str = "/readyz", client: str = "127.0.0.1") -> httpx.Response:
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as connected:
        return await connected.get(path)


async def test_a_process_is_alive_without_any_server(ctx: ApiContext) -> None:
    away = replace(ctx, database=Database("postgresql://127.0.0.1:1/none"))

    reply = await ask(make_app(away), "/healthz")

    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


async def test_ready_when_every_part_answers(app: FastAPI, worker: None) -> None:
    reply = await ask(app)

    assert (reply.status_code, reply.json()) == (
        200,
        {"status": "ok", "parts": {"database": "ok", "migrations": "ok", "broker": "ok", "workers": "ok"}},
    )


async def test_an_unavailable_broker_is_not_ready(ctx: ApiContext, worker: None) -> None:
    for broker_url in ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//"]:
        reply = await ask(make_app(replace(ctx, broker=make_broker(broker_url))))

        assert (reply.status_code, reply.json()["parts"]["broker"]) == (503, "unavailable")


async def test_an_unavailable_database_is_not_ready_and_is_logged(
    ctx: ApiContext, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = await ask(make_app(replace(ctx, database=Database("postgresql://127.0.0.1:1/none"))))

    assert (reply.status_code, reply.json()) == (503, {"status": "unavailable"})
    assert "not_ready" in capsys.readouterr().out
