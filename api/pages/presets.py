"""`/presets`: a preset with every value, to edit, duplicate, delete, or make the default."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm, csrf
from schemas.errors import DefaultPresetError, PresetExistsError, PresetValueError
from schemas.settings.base import allowed, field_schemas, value_in_words
from schemas.settings.preset import PRESET_GROUPS, PRESET_SETTINGS
from schemas.values.base import Text
from store.database import Connection
from store.questions import presets
from store.questions.presets import StoredPreset

#: A slider of a wider range could not be set to one value.
_WIDEST_SLIDER: Final = 5000


class PresetField(NamedTuple):
    """A value of a preset."""

    name: str
    """`retrieval.dense_limit`."""
    key: str
    """`dense_limit`."""
    description: str
    allowed: str
    control: str
    """`switch`, `choice`, `number` or `text`."""
    choices: tuple[str, ...]
    least: int | float | None
    most: int | float | None
    is_whole: bool

    @property
    def step(self) -> int | float | None:
        """The step of a slider; None for a field without one."""
        if self.least is None or self.most is None or self.most - self.least > _WIDEST_SLIDER:
            return None
        return 1 if self.is_whole else (self.most - self.least) / 100


class FieldGroup(NamedTuple):
    """The values of one group."""

    name: str
    description: str
    fields: tuple[PresetField, ...]


def _field(name: str, schema: dict[str, Any]) -> PresetField:
    setting = PRESET_SETTINGS[name]
    kinds = {"boolean": "switch", "integer": "number", "number": "number"}
    return PresetField(
        name=name,
        key=setting.field,
        description=setting.description,
        allowed=allowed(setting),
        control="choice" if "enum" in schema else kinds.get(schema["type"], "text"),
        choices=tuple(schema.get("enum", ())),
        least=schema.get("minimum"),
        most=schema.get("maximum"),
        is_whole=schema["type"] == "integer",
    )


def _groups() -> tuple[FieldGroup, ...]:
    return tuple(
        FieldGroup(
            name,
            group.__doc__ or "",
            tuple(_field(f"{name}.{key}", schema) for key, schema in field_schemas(group).items()),
        )
        for name, group in PRESET_GROUPS.items()
    )


GROUPS: Final = _groups()


#: The preset that differences are shown from, beside the default one.
ORIGINAL: Final = "original"

NOTICES: Final = {
    "saved": "The preset is saved. Submitted runs keep the values they had.",
    "same": "Nothing was changed.",
    "default": "This is the default preset now.",
    "created": "The preset is created.",
    "deleted": "The preset is deleted.",
}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Compared(NamedTuple):
    """The values of another preset that the shown one has otherwise."""

    preset: StoredPreset
    values: dict[str, str]
    """The other preset's value in words, by name."""


class Filled(NamedTuple):
    """A form that cannot be saved as it was filled in."""

    description: str
    values: Mapping[str, str]


class Chosen(NamedTuple):
    """The presets, and the one that the page is about."""

    all: list[StoredPreset]
    preset: StoredPreset


@router.get("/presets")
async def presets_page(request: Request, ctx: Context, name: Text | None = None, notice: str = "") -> Response:
    """The default preset; with `name`, redirects to the preset of that name where there is one."""
    async with ctx.database.connection() as connection:
        stored = await presets.list_all(connection)
    for preset in stored:
        if name is not None and preset.is_called(name):
            return RedirectResponse(f"/presets/{preset.id}", 303)
    if not stored:
        return page(request, "no_presets.html.j2", notice=NOTICES.get(notice))
    return _page(request, Chosen(stored, stored[0]), notice=NOTICES.get(notice), missing=name)


@router.get("/presets/{preset_id:int}")
async def preset_page(request: Request, ctx: Context, preset_id: PathId, notice: str = "") -> Response:
    """Every value of a preset with its range, and where it differs from the default preset and from the original."""
    return _page(request, await _read(ctx, preset_id), notice=NOTICES.get(notice))


@router.post("/presets/{preset_id:int}")
async def save(
    request: Request,
    ctx: Context,
    _form: CheckedForm,
    preset_id: PathId,
    of: Annotated[str, Form()] = "",
    description: Annotated[Text, Form(max_length=2000)] = "",
) -> Response:
    """Save the values, all or none. Invalid ones stay in their fields, each with the reason."""
    chosen = await _read(ctx, preset_id)
    preset = chosen.preset
    form = await request.form()
    # A switch that is off sends only the hidden field before it.
    sent = {name: form.getlist(name) for name in PRESET_SETTINGS}
    filled = Filled(
        description.replace("\r\n", "\n").strip(), {name: str(values[-1]) for name, values in sent.items() if values}
    )
    if of != preset.updated_at.isoformat():
        changed = "The preset was changed meanwhile. Compare your values with the marks, and save again to keep yours."
        return _page(request, chosen, filled=filled, wrong={"form": changed})
    try:
        values = preset.preset.changed(filled.values, origin="form").values()
        if (values, filled.description) == (preset.preset.values(), preset.description or ""):
            return RedirectResponse(f"/presets/{preset_id}?notice=same", 303)
        async with ctx.database.connection() as connection:
            await presets.change(connection, preset.name, values, origin="form", description=filled.description)
    except PresetValueError as error:
        return _page(request, chosen, filled=filled, wrong=_by_field(error))
    return RedirectResponse(f"/presets/{preset_id}?notice=saved", 303)


@router.post("/presets/{preset_id:int}/default", dependencies=[Depends(csrf)])
async def set_default(ctx: Context, preset_id: PathId) -> Response:
    """Make the preset the default."""
    chosen = await _read(ctx, preset_id)
    async with ctx.database.connection() as connection:
        await presets.set_default(connection, chosen.preset.name)
    return RedirectResponse(f"/presets/{preset_id}?notice=default", 303)


@router.post("/presets/{preset_id:int}/duplicate", dependencies=[Depends(csrf)])
async def duplicate(
    request: Request, ctx: Context, preset_id: PathId, name: Annotated[Text, Form(max_length=200)] = ""
) -> Response:
    """Create a preset with the same values under another name."""
    chosen = await _read(ctx, preset_id)
    try:
        async with ctx.database.connection() as connection:
            copied = chosen.preset
            made = await presets.create(connection, name, copied.preset, description=copied.description)
    except (PresetValueError, PresetExistsError) as error:
        return _page(request, chosen, name=name, wrong={"name": str(error)})
    return RedirectResponse(f"/presets/{made.id}?notice=created", 303)


@router.post("/presets/{preset_id:int}/delete", dependencies=[Depends(csrf)])
async def delete(request: Request, ctx: Context, preset_id: PathId) -> Response:
    """Delete the preset, unless it is the default."""
    chosen = await _read(ctx, preset_id)
    try:
        async with ctx.database.connection() as connection:
            await presets.delete(connection, chosen.preset.name)
    except DefaultPresetError as error:
        return _page(request, chosen, wrong={"form": str(error)})
    return RedirectResponse("/presets?notice=deleted", 303)


async def _read(ctx: ApiContext, preset_id: int) -> Chosen:
    async with ctx.database.connection() as connection:
        return await _chosen(connection, preset_id)


async def _chosen(connection: Connection, preset_id: int) -> Chosen:
    stored = await presets.list_all(connection)
    for preset in stored:
        if preset.id == preset_id:
            return Chosen(stored, preset)
    raise presets.preset_missing(str(preset_id))


def _page(
    request: Request,
    chosen: Chosen,
    *,
    filled: Filled | None = None,
    name: str = "",
    wrong: Mapping[str, str] | None = None,
    notice: str | None = None,
    missing: str | None = None,
) -> Response:
    preset = chosen.preset
    stored = {key: str(value).lower() if isinstance(value, bool) else value for key, value in _values(preset).items()}
    return page(
        request,
        "preset.html.j2",
        status=422 if wrong else 200,
        presets=chosen.all,
        preset=preset,
        groups=GROUPS,
        values=stored | dict(filled.values if filled else {}),
        description=filled.description if filled else preset.description or "",
        compared=_compared(chosen),
        is_changed=filled is not None,
        name=name,
        wrong=wrong or {},
        notice=notice,
        missing=missing,
    )


def _compared(chosen: Chosen) -> list[Compared]:
    """The default preset and the original, without the shown one."""
    shown = _values(chosen.preset)
    others = [one for one in chosen.all if one.is_default or one.is_called(ORIGINAL)]
    return [
        Compared(one, {name: value_in_words(value) for name, value in _values(one).items() if value != shown.get(name)})
        for one in others
        if one.id != chosen.preset.id
    ]


def _values(stored: StoredPreset) -> dict[str, Any]:
    return dict(stored.preset.values())


def _by_field(error: PresetValueError) -> dict[str, str]:
    """The problems by the fields that they are about; those of no field, and of several, under the first, or `form`."""
    found: dict[str, str] = {}
    for problem in error.problems:
        named = (name for name in PRESET_SETTINGS if problem.startswith((f"{name} ", f"{name}=")))
        field = next(named, "form")
        found[field] = f"{found[field]} {problem}" if field in found else problem
    return found or {"form": str(error)}
