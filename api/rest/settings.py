"""The settings of new runs, and of the server, for the original's client among others."""

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy.engine import make_url

from api.context import Context
from api.problems import problem_responses
from api.rest.bodies.base import Reply
from api.rest.bodies.runs import SettingReply

router = APIRouter(prefix="/settings", tags=["settings"])


class DatabaseReply(Reply):
    """The database, without its password."""

    host: str = Field(examples=["127.0.0.1"])
    port: int = Field(examples=[5432])
    db_name: str = Field(examples=["ragq"])
    app_user: str = Field(examples=["ragq"])
    admin_user: str = Field(examples=["ragq"])
    """The same: one user does everything."""


class ModelPair(Reply):
    """Two models."""

    light: str = Field(examples=["llama3.2:3b"])
    full: str = Field(examples=["llama3.1:8b"])


class ModelsReply(Reply):
    """Models under the providers that the original knows."""

    openai: ModelPair
    """The models of new questions, at any backend."""
    gemini: ModelPair = Field(examples=[{"light": "", "full": ""}])
    """Always empty: there is no such backend."""


class LanguageModelsReply(Reply):
    """The language models of new questions."""

    provider: str = Field(examples=["ollama"])
    """LLM_BACKEND."""
    models: ModelsReply


class PathsReply(Reply):
    """Always empty: files are uploaded, or named when they are imported."""

    input_dir: str = Field(default="", examples=[""])
    output_dir: str = Field(default="", examples=[""])


class SettingsReply(Reply):
    """What runs that are submitted now are submitted with."""

    profile: str = Field(examples=["demo"])
    settings: dict[str, SettingReply]
    """Every setting of a new run, and its source."""
    database: DatabaseReply
    llm: LanguageModelsReply
    paths: PathsReply = PathsReply()


@router.get("/", summary="Show the settings of new runs", responses=problem_responses(409))
async def show_settings(ctx: Context) -> SettingsReply:
    """Every setting of runs that are submitted now, as `ragq config show` prints them, and the database.

    They cannot be changed here: environment variables and the .env file of the server set them, and `settings` of a
    submission replaces them for one run.
    """
    effective = ctx.run_settings()
    url = make_url(ctx.database.url)
    user = url.username or ""
    full, light = effective.run.query_model, effective.run.query_light_model
    return SettingsReply(
        profile=effective.profile,
        settings={name: SettingReply(**entry) for name, entry in effective.snapshot().items()},
        database=DatabaseReply(
            host=_host(url.host, url.query.get("host")),
            port=url.port or 5432,
            db_name=url.database or "",
            app_user=user,
            admin_user=user,
        ),
        llm=LanguageModelsReply(
            provider=effective.run.llm.backend,
            models=ModelsReply(openai=ModelPair(light=light, full=full), gemini=ModelPair(light="", full="")),
        ),
    )


def _host(host: str | None, folder: Any) -> str:
    """The host, or the folder of the socket."""
    return host or (folder if isinstance(folder, str) else "")
