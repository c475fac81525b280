"""Presets: named values for queries, one of them the default."""

from dataclasses import asdict
from urllib.parse import quote

from fastapi import APIRouter, Response

from api.context import Context
from api.preferences import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.presets import NewPresetBody, PathName, PresetBody, PresetReply
from store.access.idempotency import once
from store.database import Connection
from store.questions import presets
from store.questions.presets import StoredPreset

router = APIRouter(prefix="/api/rag-config", tags=["presets"])

_ORIGIN = "request"


@router.get("", summary="List presets")
async def list_presets(ctx: Context) -> list[PresetReply]:
    """Every preset with its values, the default first, then by name."""
    async with ctx.database.connection() as connection:
        found = await presets.list_all(connection)
    return [_reply(stored) for stored in found]


@router.get("/default", summary="Show the default preset", responses=problem_responses(404))
async def show_default_preset(ctx: Context) -> PresetReply:
    """The preset of queries that name none."""
    async with ctx.database.connection() as connection:
        return _reply(await presets.default(connection))


@router.get("/{name}", summary="Show a preset", responses=problem_responses(404, 422))
async def show_preset(name: PathName, ctx: Context) -> PresetReply:
    """The preset of a name. `default` is the default preset, whatever its name."""
    async with ctx.database.connection() as connection:
        return _reply(await presets.get(connection, name))


@router.post("", summary="Create a preset", status_code=201, responses=problem_responses(404, 409, 422))
async def create_preset(body: NewPresetBody, ctx: Context, key: Keyed, response: Response) -> PresetReply:
    """A copy of another preset with some values changed."""

    async def make(connection: Connection) -> dict[str, str]:
        copied = await (presets.default(connection) if body.copy_of is None else presets.get(connection, body.copy_of))
        changed = copied.preset.changed(body.config.values(), origin=_ORIGIN)
        created = await presets.create(connection, body.preset_name, changed, description=body.description)
        if body.is_default:
            await presets.set_default(connection, created.name)
        return {"preset": created.name}

    async with ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
        created = await presets.get(connection, made["preset"])
    response.headers["Location"] = f"{router.prefix}/{quote(created.name)}"
    response.headers.update({} if is_new else REPLAYED)
    return _reply(created)


@router.put("/{name}", summary="Change a preset", responses=problem_responses(404, 422))
async def change_preset(name: PathName, body: PresetBody, ctx: Context) -> PresetReply:
    """Change some values, or none where one is invalid. Submitted runs keep their values."""
    async with ctx.database.connection() as connection:
        return _reply(
            await presets.change(connection, name, body.config.values(), origin=_ORIGIN, description=body.description)
        )


@router.put("/{name}/set-default", summary="Make a preset the default", responses=problem_responses(404, 422))
async def set_default_preset(name: PathName, ctx: Context) -> PresetReply:
    """Queries that name no preset use this one from now on."""
    async with ctx.database.connection() as connection:
        return _reply(await presets.get(connection, await presets.set_default(connection, name)))


@router.delete("/{name}", summary="Delete a preset", status_code=204, responses=problem_responses(400, 404, 422))
async def delete_preset(name: PathName, ctx: Context) -> None:
    """Delete a preset that is not the default."""
    async with ctx.database.connection() as connection:
        await presets.delete(connection, name)


def _reply(stored: StoredPreset) -> PresetReply:
    return PresetReply(preset_name=stored.name, config=stored.preset, **asdict(stored))
