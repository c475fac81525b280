"""Liveness and readiness; and the original's web client: its health, settings of new runs, presets and templates."""

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from api.app import make_app
from api.context import ApiContext
from store.database import Connection, Database
from store.questions.presets import PRESETS
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


@pytest.mark.usefixtures("worker")
async def test_every_reply_is_healthy_when_every_part_answers(client: httpx.AsyncClient) -> None:
    health = (await client.get("/health")).json()
    checks = (await client.get("/init/db-health")).json()

    assert (health["status"], set(health)) == ("healthy", {"status", "version"})
    assert (checks["all_passed"], checks["connection_ok"]) == (True, True)
    assert {tuple(check) for check in checks["results"]} == {("name", "passed", "message", "details")}


async def test_a_part_that_is_missing_is_named_with_what_to_do_to_those_who_may_know(ctx: ApiContext) -> None:
    app = make_app(replace(ctx, broker=make_broker("redis://127.0.0.1:1/0")))

    health = await ask(app, "/health")
    checks = (await ask(app, "/init/db-health")).json()

    assert (health.status_code, health.json()["status"]) == (200, "degraded")
    failed = {check["name"]: check["details"] for check in checks["results"] if not check["passed"]}
    assert set(failed) == {"Connection: broker", "Connection: workers"}
    assert "REDIS_URL" in failed["Connection: broker"]
    assert "`ragq worker`" in failed["Connection: workers"]
    assert (await ask(app, "/health", client="192.0.2.1")).json() == {"status": "degraded"}
    assert (await ask(app, "/init/db-health", client="192.0.2.1")).status_code == 401


async def test_missing_presets_and_templates_are_added_and_the_rest_stays(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    await client.put("/settings/templates/query_expansion/1", json={"title": "Mine"})
    await connection.execute("DELETE FROM rag_config")
    await connection.execute("DELETE FROM prompt_templates WHERE function_tag = 'rag_augmentation'")

    added = await client.post("/init/database", json={"reset": False})

    assert (added.status_code, added.json()["success"]) == (201, True)
    assert [preset["preset_name"] for preset in (await client.get("/api/rag-config")).json()] == list(PRESETS)
    templates = (await client.get("/settings/templates")).json()["templates"]
    assert [template["active_version"] for template in templates] == [1] * len(templates)
    assert (await client.get("/settings/templates/query_expansion/1")).json()["title"] == "Mine"


async def test_nothing_is_dropped_and_an_older_database_is_sent_to_migrate(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    refused = await client.post("/init/database", json={"reset": True})
    await connection.execute("UPDATE alembic_version SET version_num = '0000'")
    old = await client.post("/init/database")

    assert (refused.status_code, old.status_code) == (409, 409)
    assert "`ragq db migrate`" in old.json()["detail"]


async def test_what_the_server_is_started_with_is_confirmed_and_not_changed(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/settings/")).json()

    assert (await client.put("/settings/database", json=shown["database"])).json() == shown["database"]
    assert (await client.put("/settings/paths", json=shown["paths"])).json() == shown["paths"]
    for path, body, named in (
        ("database", {"port": 1}, "DATABASE_URL"),
        ("paths", {"input_dir": "/tmp"}, "(/corpora/files), or `ragq import works`"),
        ("llm", {"provider": "gemini"}, "LLM_BACKEND"),
        ("llm", {"gemini_full": "pro"}, "Gemini"),
    ):
        refused = await client.put(f"/settings/{path}", json=body)
        assert (refused.status_code, named in refused.json()["detail"]) == (409, True)
    assert (await client.get("/settings/")).json() == shown


async def test_the_settings_of_new_runs_and_the_database_are_shown_without_its_password(
    client: httpx.AsyncClient, ctx: ApiContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctx.database, "url", "postgresql://me:open-sesame@db.example:6543/notes")
    assert isinstance(ctx.environment, dict)
    ctx.environment.update({"RAGQ_QUERY_MODEL": "large", "RAGQ_QUERY_LIGHT_MODEL": "small"})

    reply = await client.get("/settings/")

    found = reply.json()
    assert found["profile"] == "demo"
    assert found["settings"]["MODEL_TEMPERATURE"] == {"value": 0.0, "source": "default"}
    names = {"host": "db.example", "port": 6543, "db_name": "notes", "app_user": "me", "admin_user": "me"}
    assert found["database"] == names
    assert "open-sesame" not in reply.text
    models = {"openai": {"light": "small", "full": "large"}, "gemini": {"light": "", "full": ""}}
    assert found["llm"] == {"provider": "ollama", "models": models}

    ctx.environment.update({"MODEL_TEMPERATURE": "warm"})
    refused = await client.get("/settings/")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ragq:problem:refused")
    assert "MODEL_TEMPERATURE" in refused.json()["detail"]


async def test_models_of_new_questions_are_chosen_where_no_setting_names_others(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    before = (await client.get("/settings/")).json()["llm"]
    full = before["models"]["openai"]["full"]

    chosen = await client.put("/settings/llm", json={"openai_full": "large", "openai_light": full})

    assert (chosen.status_code, chosen.json()["models"]["openai"]) == (200, {"light": full, "full": "large"})
    shown = (await client.get("/settings/")).json()
    assert shown["llm"] == chosen.json()
    assert shown["settings"]["RAGQ_QUERY_MODEL"] == {"value": "large", "source": "chosen"}

    assert isinstance(ctx.environment, dict)
    ctx.environment["RAGQ_QUERY_MODEL"] = "fixed"
    assert (await client.get("/settings/")).json()["llm"]["models"]["openai"]["full"] == "fixed"
    refused = await client.put("/settings/llm", json={"openai_full": "large", "openai_light": "tiny"})
    assert refused.status_code == 409
    assert "RAGQ_QUERY_MODEL (environment)" in refused.json()["detail"]
    del ctx.environment["RAGQ_QUERY_MODEL"]

    assert (await client.put("/settings/llm", json={"openai_full": "", "openai_light": ""})).json() == before
