"""Presets, named values for queries, one of them the default; and templates, of whose versions one is active."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Response
from pydantic import Field, StringConstraints

from api.context import Context
from api.parameters import Body, Reply, with_example
from schemas.settings.preset import by_name
from schemas.values.base import Text
from stages.queries.templates import TemplateTag
from store.questions import presets
from store.questions.presets import StoredPreset, StoredTemplate

Name = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9 _-]{1,100}$")]

PathName = Annotated[
    str, Path(pattern="^[A-Za-z0-9 _-]{1,100}$", description="In any case of letters", examples=["Balanced"])
]

Description = Annotated[Text, StringConstraints(max_length=1000)]

PresetValues = dict[
    Annotated[Text, Field(max_length=100)],
    Annotated[dict[Annotated[Text, Field(max_length=100)], bool | int | float | Text], Field(max_length=100)],
]
"""Values of a preset by group and key; absent ones are not changed."""


class PresetBody(Body):
    """What to change about a preset."""

    model_config = with_example(config={"augmentation": {"top_n_contexts": 3}})

    description: Description | None = Field(default=None, examples=["Few sources"])
    """Absent or null does not change it."""
    config: PresetValues = Field(default={})


class NewPresetBody(PresetBody):
    """A new preset: a copy of another one with some values changed."""

    model_config = with_example(preset_name="Small", config={"augmentation": {"top_n_contexts": 3}})

    preset_name: Name = Field(examples=["Small"])
    """1 to 100 letters from A to Z, digits, spaces, `-` and `_`; surrounding spaces are removed."""
    is_default: bool = False
    """Make it the default preset."""
    copy_of: Name | None = Field(default=None, examples=["Original"])
    """The preset to copy; by default the default preset."""


Title = Annotated[Text, StringConstraints(min_length=1, max_length=255)]

Content = Annotated[Text, StringConstraints(min_length=1, max_length=100_000)]


class TemplateBody(Body):
    """A text to store as the next version."""

    title: Title = Field(examples=["More angles"])
    """A short description of the change."""
    template_content: Content = Field(
        repr=False, examples=["Write {n} ways to search for an answer to this question:\n{query}"]
    )
    """A placeholder is a name in braces, {query}; a literal brace is doubled."""


class VersionBody(Body):
    """What to change about a version."""

    model_config = with_example(title="More angles, second try")

    title: Title | None = None
    template_content: Content | None = Field(default=None, repr=False)
    """Another text than that of the version is stored as the next version."""


class TemplateReply(Reply):
    """A template with all of its versions."""

    function_tag: str = Field(examples=["query_expansion"])
    variables: list[dict[str, str]]
    """The allowed placeholders."""
    active_version: int | None = Field(examples=[1])
    versions: list[StoredTemplate]


router = APIRouter(prefix="/api/rag-config", tags=["presets"])


@router.get("")
async def list_presets(ctx: Context) -> list[StoredPreset]:
    """Every preset with its values, the default first, then by name."""
    return await ctx.database.once(presets.list_all)


@router.get("/{name}")
async def show_preset(name: PathName, ctx: Context) -> StoredPreset:
    """The preset of a name. `default` is the default preset, whatever its name."""
    return await ctx.database.once(presets.get, name)


@router.post("", status_code=201)
async def create_preset(body: NewPresetBody, ctx: Context, response: Response) -> StoredPreset:
    """A copy of another preset with some values changed."""
    async with ctx.database.connection() as connection, connection.transaction():
        values = by_name(body.config)
        created = await presets.create(
            connection, body.preset_name, values, of=body.copy_of, description=body.description
        )
        if body.is_default:
            created = await presets.change(connection, created.name, is_default=True)
    response.headers["Location"] = f"{router.prefix}/{quote(created.name)}"
    return created


@router.put("/{name}")
async def change_preset(name: PathName, body: PresetBody, ctx: Context) -> StoredPreset:
    """Change some values, or none where one is invalid. Submitted runs keep their values."""
    return await ctx.database.once(presets.change, name, by_name(body.config), description=body.description)


@router.put("/{name}/set-default")
async def set_default_preset(name: PathName, ctx: Context) -> StoredPreset:
    """Queries that name no preset use this one from now on."""
    return await ctx.database.once(presets.change, name, is_default=True)


@router.delete("/{name}", status_code=204)
async def delete_preset(name: PathName, ctx: Context) -> None:
    """Delete a preset that is not the default."""
    await ctx.database.once(presets.delete, name)


templates_router = APIRouter(prefix="/settings/templates", tags=["templates"])

Version = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]


@templates_router.get("")
async def list_templates(ctx: Context) -> dict[Literal["templates"], list[TemplateReply]]:
    """Every template with all of its versions."""
    versions = await ctx.database.once(presets.all_templates)
    return {"templates": [_template(tag, versions) for tag in TemplateTag]}


@templates_router.get("/{tag}")
async def list_versions(tag: TemplateTag, ctx: Context) -> list[StoredTemplate]:
    """All versions of a template, the newest first."""
    versions = await ctx.database.once(presets.all_templates, tag)
    return versions[::-1]


@templates_router.post("/{tag}", status_code=201)
async def add_version(tag: TemplateTag, body: TemplateBody, ctx: Context, response: Response) -> StoredTemplate:
    """Store a text as the next version, which is not used until it is activated.

    Unknown placeholders, missing required ones, and unbalanced braces are refused.
    """
    added = await ctx.database.once(presets.add_template, tag, body.template_content, title=body.title)
    response.headers["Location"] = f"{templates_router.prefix}/{tag}/{added.version}"
    return added


@templates_router.get("/{tag}/{version}")
async def show_version(tag: TemplateTag, version: Version, ctx: Context) -> StoredTemplate:
    """One version of a template."""
    return await ctx.database.once(presets.template, tag, version)


@templates_router.put("/{tag}/{version}")
async def change_version(tag: TemplateTag, version: Version, body: VersionBody, ctx: Context) -> StoredTemplate:
    """Change the title of a version. Another text is stored as the next version, because stored prompts refer to this
    one; it is active if this one was. The reply has the version that was stored."""
    changes = {"title": body.title, "text": body.template_content}
    return await ctx.database.once(presets.change_template, tag, version, **changes)


@templates_router.put("/{tag}/{version}/activate")
async def activate_version(tag: TemplateTag, version: Version, ctx: Context) -> StoredTemplate:
    """Use this version for new prompts. Stored prompts do not change."""
    return await ctx.database.once(presets.activate_template, tag, version)


def _template(tag: TemplateTag, stored: Sequence[StoredTemplate]) -> TemplateReply:
    versions = [version for version in stored if version.function_tag == tag]
    active = next((version.version for version in versions if version.is_active), None)
    return TemplateReply(
        function_tag=tag, variables=presets.variables_of(tag), active_version=active, versions=versions
    )
