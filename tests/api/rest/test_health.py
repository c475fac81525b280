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


async def test_ready_when_every_part_answers_and_alive_without_a_broker_or_a_database(
    app: FastAPI, ctx: ApiContext, worker: None, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = await ask(app)

    parts = dict.fromkeys(("database", "migrations", "broker", "workers"), "ok")
    assert (ready.status_code, ready.json()) == (200, {"status": "ok", "parts": parts})
    for broker_url in ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//"]:
        reply = await ask(make_app(replace(ctx, broker=make_broker(broker_url))))
        assert (reply.status_code, reply.json()["parts"]["broker"]) == (503, "unavailable")

    away = make_app(replace(ctx, database=Database("postgresql://127.0.0.1:1/none")))
    alive, unready = await ask(away, "/healthz"), await ask(away)
    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (unready.status_code, unready.json()) == (503, {"status": "unavailable"})
    assert "not_ready" in capsys.readouterr().out
