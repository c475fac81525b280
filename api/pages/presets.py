"""`/ui/presets`: a preset with every value, to edit, duplicate, delete, or make the default; `/ui/templates`: the
prompts of language model calls, and their versions.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Form, Request
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, by_field, page_router
from api.parameters import PathId
from api.rendering import page
from api.rest.presets import TemplateBody, Version
from schemas.errors import PresetValueError, Refused, TemplateError
from schemas.settings.base import allowed, by_group, field_schemas
from schemas.settings.preset import PRESET_SETTINGS
from schemas.values.base import Text
from stages.queries.templates import RULES, TemplateTag
from stages.reports.tables import UI
from store.questions import presets
from store.questions.presets import StoredPreset

#: Every group of values: its name, its description, and each setting with its JSON schema.
GROUPS: Final = [
    (name, group.__doc__ or "", [(one, field_schemas(group)[one.field]) for one in found])
    for name, group, found in by_group(PRESET_SETTINGS)
]

NOTICES: Final = {
    "saved": "The preset is saved. Submitted runs keep the values they had.",
    "default": "This is the default preset now.",
    "created": "The preset is created.",
    "deleted": "The preset is deleted.",
    "added": "The version is added. It is used once it is activated.",
    "active": "New prompts use this version. Stored prompts do not change.",
}

router = page_router(UI)


@router.get("/presets")
async def presets_page(request: Request, ctx: Context, name: Text | None = None) -> Response:
    """The default preset; with `name`, redirects to the preset of that name."""
    preset = await ctx.database.once(presets.get, name)
    if name is not None:
        return RedirectResponse(f"{UI}/presets/{preset.id}", 303)
    return _page(request, await ctx.database.once(presets.list_all), preset)


@router.get("/presets/{preset_id:int}")
async def preset_page(request: Request, ctx: Context, preset_id: PathId) -> Response:
    """Every value of a preset with its range."""
    return _page(request, *await _read(ctx, preset_id))


@router.post("/presets/{preset_id:int}")
async def save(
    request: Request,
    ctx: Context,
    preset_id: PathId,
    of: Annotated[str, Form()] = "",
    description: Annotated[Text, Form(max_length=2000)] = "",
) -> Response:
    """Save the values, all or none. Invalid ones stay in their fields, each with the reason."""
    stored, preset = await _read(ctx, preset_id)
    form = await request.form()
    description = description.replace("\r\n", "\n").strip()
    # A switch that is off sends only the hidden field before it.
    filled = {name: str(sent[-1]) for name in PRESET_SETTINGS if (sent := form.getlist(name))}
    if of != preset.updated_at.isoformat():
        changed = "The preset was changed meanwhile. Compare your values with it, and save again to keep yours."
        return _page(request, stored, preset, filled=filled, description=description, wrong={"form": changed})
    try:
        await ctx.database.once(presets.change, preset.name, filled, description=description)
    except PresetValueError as error:
        return _page(request, stored, preset, filled=filled, description=description, wrong=_by_field(error))
    return RedirectResponse(f"{UI}/presets/{preset_id}?notice=saved", 303)


@router.post("/presets/{preset_id:int}/default")
async def set_default(ctx: Context, preset_id: PathId) -> Response:
    """Make the preset the default."""
    _, preset = await _read(ctx, preset_id)
    await ctx.database.once(presets.change, preset.name, is_default=True)
    return RedirectResponse(f"{UI}/presets/{preset_id}?notice=default", 303)


@router.post("/presets/{preset_id:int}/duplicate")
async def duplicate(
    request: Request, ctx: Context, preset_id: PathId, name: Annotated[Text, Form(max_length=200)] = ""
) -> Response:
    """Create a preset with the same values under another name."""
    stored, preset = await _read(ctx, preset_id)
    try:
        made = await ctx.database.once(presets.create, name, of=preset.name, description=preset.description)
    except Refused as error:
        return _page(request, stored, preset, name=name, wrong={"name": str(error)})
    return RedirectResponse(f"{UI}/presets/{made.id}?notice=created", 303)


@router.post("/presets/{preset_id:int}/delete")
async def delete(ctx: Context, preset_id: PathId) -> Response:
    """Delete the preset, unless it is the default."""
    _, preset = await _read(ctx, preset_id)
    await ctx.database.once(presets.delete, preset.name)
    return RedirectResponse(f"{UI}/presets?notice=deleted", 303)


async def _read(ctx: ApiContext, preset_id: int) -> tuple[list[StoredPreset], StoredPreset]:
    """Every preset, and that of a number."""
    stored = await ctx.database.once(presets.list_all)
    for preset in stored:
        if preset.id == preset_id:
            return stored, preset
    raise presets.preset_missing(str(preset_id))


def _page(
    request: Request,
    stored: list[StoredPreset],
    preset: StoredPreset,
    *,
    filled: Mapping[str, str] | None = None,
    **sent: Any,
) -> Response:
    sent = {"description": preset.description or "", "name": ""} | sent
    return page(
        request,
        "preset.html.j2",
        notices=NOTICES,
        presets=stored,
        preset=preset,
        groups=GROUPS,
        values=preset.preset.values() | dict(filled or {}),
        is_changed=filled is not None,
        allowed=allowed,
        **sent,
    )


def _by_field(error: PresetValueError) -> dict[str, str]:
    """The problems by the fields that they are about; those of no field, and of several, under the first, or `form`."""
    found: dict[str, str] = {}
    for problem in error.problems:
        named = (name for name in PRESET_SETTINGS if problem.startswith((f"{name} ", f"{name}=")))
        field = next(named, "form")
        found[field] = f"{found[field]} {problem}" if field in found else problem
    return found or {"form": str(error)}


@router.get("/templates")
async def templates_page(request: Request, ctx: Context) -> Response:
    """Every template with its active version."""
    stored = await ctx.database.once(presets.all_templates)
    versions = {tag: [one for one in stored if one.function_tag == tag] for tag in TemplateTag}
    return page(request, "templates.html.j2", versions=versions, rules=RULES)


@router.get("/templates/{tag}")
async def template_page(request: Request, ctx: Context, tag: TemplateTag) -> Response:
    """The versions of a template with their texts, newest first, its placeholders, and the form for a new version,
    which starts from the active one."""
    return await _template_page(request, ctx, tag)


@router.post("/templates/{tag}")
async def add_version(
    request: Request,
    ctx: Context,
    tag: TemplateTag,
    title: Annotated[Text, Form()] = "",
    template_content: Annotated[Typed, Form()] = "",
) -> Response:
    """Add the version and show it; or show what is wrong beside its field."""
    try:
        new = TemplateBody(title=title.strip(), template_content=template_content)
        added = await ctx.database.once(presets.add_template, tag, new.template_content, title=new.title)
    except (ValidationError, TemplateError) as error:
        wrong = by_field(error, "template_content")
        return await _template_page(request, ctx, tag, title=title, text=template_content, wrong=wrong)
    return RedirectResponse(f"{UI}/templates/{tag}?notice=added#version-{added.version}", 303)


@router.post("/templates/{tag}/{version:int}/activate")
async def activate(ctx: Context, tag: TemplateTag, version: Version) -> Response:
    """Use the version for new prompts."""
    await ctx.database.once(presets.activate_template, tag, version)
    return RedirectResponse(f"{UI}/templates/{tag}?notice=active#version-{version}", 303)


async def _template_page(request: Request, ctx: ApiContext, tag: TemplateTag, **sent: Any) -> Response:
    versions = await ctx.database.once(presets.all_templates, tag)
    text = next((one.template_content for one in versions if one.is_active), "")
    sent = {"text": text, "title": ""} | sent
    return page(
        request, "template.html.j2", notices=NOTICES, tag=tag, rules=RULES[tag], versions=versions[::-1], **sent
    )
