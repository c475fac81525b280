"""The settings of new runs, and of the server, for the original's client among others."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StringConstraints
from sqlalchemy.engine import make_url

from api.context import ApiContext, Context
from api.rest.base import Body, Reply, StrictRoute
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.base import Text
from schemas.values.runs import SettingValue
from services.questions.submission import choose_models, with_chosen_models

Value = Annotated[Text, StringConstraints(max_length=1000)]


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
    gemini: ModelPair = Field(default=ModelPair(light="", full=""), examples=[{"light": "", "full": ""}])
    """Always empty: there is no such backend."""


class LanguageModelsReply(Reply):
    """The language models of new questions."""

    provider: str = Field(examples=["ollama"])
    """LLM_BACKEND."""
    models: ModelsReply


class LanguageModelsBody(Body):
    """The language models of new questions. What is not named stays as it is."""

    provider: Value | None = Field(default=None, examples=["ollama"])
    """Accepted as it is; LLM_BACKEND sets it."""
    openai_light: Value | None = Field(default=None, examples=["llama3.2:3b"])
    """Empty: that of all other questions."""
    openai_full: Value | None = Field(default=None, examples=["llama3.1:8b"])
    """Empty: the one that the settings of the server name."""
    gemini_light: Value | None = Field(default=None, examples=[""])
    """Accepted empty: there is no such backend."""
    gemini_full: Value | None = Field(default=None, examples=[""])
    """Accepted empty: there is no such backend."""


class PathsReply(Reply):
    """Always empty: files are uploaded, or named when they are imported."""

    input_dir: str = Field(default="", examples=[""])
    output_dir: str = Field(default="", examples=[""])


class SettingsReply(Reply):
    """What runs that are submitted now are submitted with."""

    profile: str = Field(examples=["demo"])
    settings: dict[str, SettingValue]
    """Every setting of a new run, and its source."""
    database: DatabaseReply
    llm: LanguageModelsReply
    paths: PathsReply = PathsReply()


router = APIRouter(prefix="/settings", tags=["settings"], route_class=StrictRoute)


@router.get("/")
async def show_settings(ctx: Context) -> SettingsReply:
    """Every setting of runs that are submitted now, as `ragq config show` prints them, and the database.

    Environment variables and the .env file of the server set them, and `settings` of a submission replaces them for
    one run. The models of questions can be chosen here too.
    """
    effective = await ctx.database.once(with_chosen_models, ctx.run_settings())
    return SettingsReply(
        profile=effective.profile,
        settings={name: SettingValue(**entry) for name, entry in effective.snapshot().items()},
        database=database_of(ctx),
        llm=_models(effective),
    )


@router.put("/llm")
async def change_models(body: LanguageModelsBody, ctx: Context) -> LanguageModelsReply:
    """Choose the model of new questions, and the light one, for everybody: over REST, on the pages and by command.

    RAGQ_QUERY_MODEL and RAGQ_QUERY_LIGHT_MODEL of the server win; another model than they name is refused, and so is
    another backend.
    """
    settings = ctx.run_settings()
    if body.provider not in (None, settings.run.llm.backend):
        raise Refused("LLM_BACKEND sets the provider; change it in the environment of the server and of its workers.")
    if body.gemini_light or body.gemini_full:
        raise Refused("There is no backend for Gemini; name the models of questions under openai.")
    chosen = await ctx.database.once(choose_models, settings, full=body.openai_full, light=body.openai_light)
    return _models(chosen)


def database_of(ctx: ApiContext) -> DatabaseReply:
    """The database, without its password."""
    url = make_url(ctx.database.url)
    user = url.username or ""
    host = url.host or url.query.get("host")  # the folder of a socket
    return DatabaseReply(
        host=host if isinstance(host, str) else "",
        port=url.port or 5432,
        db_name=url.database or "",
        app_user=user,
        admin_user=user,
    )


def _models(effective: EffectiveSettings) -> LanguageModelsReply:
    run = effective.run
    pair = ModelPair(light=run.query_light_model, full=run.query_model)
    return LanguageModelsReply(provider=run.llm.backend, models=ModelsReply(openai=pair))
