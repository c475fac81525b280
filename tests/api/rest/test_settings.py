"""The settings of new runs over REST."""

import httpx
import pytest

from api.context import ApiContext


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


async def test_settings_that_cannot_be_used_are_a_problem(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    assert isinstance(ctx.environment, dict)
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
