"""What serves the original's web client: its addresses and names for health, settings and works."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import Field, Strict, StringConstraints, computed_field
from sqlalchemy.engine import make_url

from api.context import ApiContext, Context
from api.parameters import Body, PathId, Reply, StrictRoute, base_name
from api.rest.health import Check, are_ok, check_parts
from api.security.authentication import OptionalPrincipal
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import VectorStatus
from schemas.values.base import Listed, Text
from schemas.values.documents import WorkView
from schemas.values.requests import WorksWanted
from schemas.values.runs import SettingValue
from services.questions.submission import choose_models, with_chosen_models
from store import migrate
from store.corpora import corpora, works
from store.corpora.corpora import corpus_of_name
from store.questions import presets

router = APIRouter(route_class=StrictRoute)

Corpus = Annotated[Text | None, Query(max_length=1000, examples=["default"])]

#: The names by which the original's client groups checks, and what to do about a part that is not available.
_CHECKS: Final = {
    "database": ("Connection: database", "`ragq up` starts the database, or DATABASE_URL names another."),
    "migrations": ("Table: alembic_version", "`ragq db migrate` applies them."),
    "broker": ("Connection: broker", "`ragq up` starts the broker, or REDIS_URL names another."),
    "workers": ("Connection: workers", "`ragq up` or `ragq worker` starts one."),
}


class DbHealth(Reply):
    """Every check."""

    results: list[dict[Literal["name", "passed", "message", "details"], str | bool | None]]
    """`details` is what to do when it did not pass."""
    all_passed: bool
    connection_ok: bool
    """The database answers."""


Value = Annotated[Text, StringConstraints(max_length=1000)]


Stored = dict[Literal["host", "port", "db_name", "app_user", "admin_user"], str | int]
"""The database, without its password. Both users are the same: one does everything."""


Models = dict[Literal["openai", "gemini"], dict[Literal["light", "full"], str]]
"""Of new questions, under the providers that the original knows: `openai` has them, at any backend; `gemini` is always
empty, because there is no such backend."""

LanguageModels = dict[Literal["provider", "models"], str | Models]
"""The models of new questions, and LLM_BACKEND as their provider."""


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


NO_PATHS: Final[dict[Literal["input_dir", "output_dir"], str]] = {"input_dir": "", "output_dir": ""}


class SettingsReply(Reply):
    """What runs that are submitted now are submitted with."""

    profile: str = Field(examples=["demo"])
    settings: dict[str, SettingValue]
    """Every setting of a new run, and its source."""
    database: Stored
    llm: LanguageModels
    paths: dict[Literal["input_dir", "output_dir"], str] = NO_PATHS
    """Always empty: files are uploaded, or named when they are imported."""


Confirmed = Annotated[dict[Annotated[Text, Field(max_length=100)], Value | int | None], Field(max_length=20)]
"""What the client read before; null is as it is."""


class CorpusWork(WorkView):
    """A work in one line."""

    @computed_field(examples=["tea.md"])  # type: ignore[prop-decorator]
    @property
    def sanitized_path(self) -> str:
        """The name of the file that it comes from."""
        return base_name(self.source_path)


class CorpusWorks(Listed[CorpusWork]):
    """Works, by title."""

    items: tuple[CorpusWork, ...] = Field(serialization_alias="works")


class CorpusWorksWanted(WorksWanted):
    """Works, by title."""

    corpus: Annotated[Text, Field(max_length=1000)] | None = Field(default=None, examples=["default"])
    """Only those of this corpus."""


class WorkContent(WorkView):
    """A work with its headings and its markdown."""

    work_id: int = Field(examples=[7])
    """The same as `id`."""
    work_title: str = Field(examples=["On Tea"])
    """The same as `title`."""
    filename: str = Field(examples=["tea.md"])
    content: str = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])


@router.get("/health", tags=["operations"])
async def show_health(ctx: Context, principal: OptionalPrincipal) -> dict[Literal["status", "version"], str]:
    """`healthy`, or `degraded` when a part is not available; `/readyz` returns 503 then, and names the part. For
    authenticated requests the version too."""
    status = "healthy" if are_ok(await check_parts(ctx)) else "degraded"
    return {"status": status} if principal is None else {"status": status, "version": version("ragq")}


@router.get("/init/db-health", tags=["operations"])
async def show_db_health(ctx: Context) -> DbHealth:
    """Each check with what to do about it."""
    parts = await check_parts(ctx)
    results = []
    for part, check in parts.items():
        name, remedy = _CHECKS[part]
        is_ok = check is Check.OK
        results.append({"name": name, "passed": is_ok, "message": check, "details": None if is_ok else remedy})
    return DbHealth(results=results, all_passed=are_ok(parts), connection_ok=parts["database"] is Check.OK)


@router.post("/init/database", tags=["operations"], status_code=201)
async def init_database(
    ctx: Context, body: dict[Literal["reset"], Annotated[bool, Strict()]] | None = None
) -> dict[str, Any]:
    """Add presets where there is none, and the first version of each template that has none, as `ragq db migrate` does.

    What is stored stays. A database that lacks migrations is refused, and so is `reset`.
    """
    if body and body.get("reset"):
        raise Refused("Nothing is dropped over REST; delete runs, corpora and vocabularies one by one.")
    async with ctx.database.connection() as connection, connection.transaction():
        if not await migrate.is_newest_revision(connection):
            raise Refused(
                "The database has migrations of another version: `ragq db migrate` applies those of this one."
            )
        await presets.seed(connection)
    message = "The database has every preset and template that a new one starts with."
    return {"success": True, "message": message, "tables_created": presets.SEEDED_TABLES}


@router.get("/settings/", tags=["settings"])
async def show_settings(ctx: Context) -> SettingsReply:
    """Every setting of runs that are submitted now, as `ragq config show` prints them, and the database.

    Environment variables and the .env file of the server set them, and `settings` of a submission replaces them for
    one run. The models of questions can be chosen here too.
    """
    effective = await ctx.database.once(with_chosen_models, ctx.run_settings())
    return SettingsReply(
        profile=effective.profile,
        settings=effective.snapshot(),
        database=_database(ctx),
        llm=_models(effective),
    )


@router.put("/settings/llm", tags=["settings"])
async def change_models(body: LanguageModelsBody, ctx: Context) -> LanguageModels:
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


@router.put("/settings/database", tags=["settings"])
async def change_database(body: Confirmed, ctx: Context) -> Stored:
    """The database as it is. Another one is refused: DATABASE_URL names it where the server is started."""
    database = _database(ctx)
    remedy = "DATABASE_URL names the database where `ragq up`, `ragq api` or a worker is started."
    _refuse_other(body, database, remedy)
    return database


@router.put("/settings/paths", tags=["settings"])
async def change_paths(body: Confirmed) -> dict[Literal["input_dir", "output_dir"], str]:
    """No folders. Any is refused, because the server reads none."""
    _refuse_other(body, NO_PATHS, "The server reads no folder: upload files (/corpora/files), or `ragq import works`.")
    return NO_PATHS


def _database(ctx: ApiContext) -> Stored:
    url = make_url(ctx.database.url)
    user = url.username or ""
    host = url.host or url.query.get("host")  # the folder of a socket
    return {
        "host": host if isinstance(host, str) else "",
        "port": url.port or 5432,
        "db_name": url.database or "",
        "app_user": user,
        "admin_user": user,
    }


def _models(effective: EffectiveSettings) -> LanguageModels:
    run = effective.run
    openai: dict[Literal["light", "full"], str] = {"light": run.query_light_model, "full": run.query_model}
    return {"provider": run.llm.backend, "models": {"openai": openai, "gemini": dict.fromkeys(openai, "")}}


def _refuse_other(body: Confirmed, now: Mapping[Any, object], remedy: str) -> None:
    if any(value is not None and value != now.get(name) for name, value in body.items()):
        raise Refused(f"This cannot be changed here. {remedy}")


@router.get("/corpus/stats", tags=["corpora"])
async def corpus_stats(
    ctx: Context, corpus: Corpus = None
) -> dict[Literal["total_works", "chunk_stats"], int | dict[VectorStatus, int]]:
    """The works of one corpus, or of all, and their chunks by the state of their vectors: sections, which are not
    searched; those that wait; those that can be found; and those whose job failed."""
    async with ctx.database.connection() as connection:
        chosen = await corpora.all_corpora(connection) if corpus is None else [await corpus_of_name(connection, corpus)]
        contents = [await corpora.view(connection, one.id) for one in chosen]
    return {
        "total_works": sum(content.works for content in contents),
        "chunk_stats": {
            VectorStatus.NO_VEC: sum(content.sections for content in contents),
            VectorStatus.TO_VEC: sum(content.waiting - content.failed for content in contents),
            VectorStatus.VEC: sum(content.searchable for content in contents),
            VectorStatus.VEC_ERR: sum(content.failed for content in contents),
        },
    }


@router.get("/corpus/works", tags=["corpora"])
async def corpus_works(ctx: Context, wanted: Annotated[CorpusWorksWanted, Query()]) -> CorpusWorks:
    """The works by title, of one corpus or of all."""
    async with ctx.database.connection() as connection:
        chosen = None if wanted.corpus is None else (await corpus_of_name(connection, wanted.corpus)).id
        found = await works.listed(connection, chosen, wanted)
    return CorpusWorks(
        items=tuple(CorpusWork(**dict(work)) for work in found.items), total=found.total, next=found.next
    )


@router.get("/corpus/work/{work_id}/content", tags=["corpora"])
async def corpus_work_content(work_id: PathId, ctx: Context) -> WorkContent:
    """A work: its bibliography, its headings with their lines, and its stored markdown, including the front matter. 409
    when that does not match its hash."""
    async with ctx.database.connection() as connection:
        work = await works.work(connection, work_id)
        markdown, _ = await works.text(connection, work_id)
    same = {"work_id": work.id, "work_title": work.title, "filename": base_name(work.source_path)}
    return WorkContent(**dict(work), **same, content=markdown)
