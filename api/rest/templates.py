"""Prompt templates: versions are added and never changed, one of each is active."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from api.context import Context
from api.preferences import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.presets import (
    TemplateBody,
    TemplateReply,
    TemplatesReply,
    Variable,
    VersionAndVariablesReply,
    VersionBody,
    VersionReply,
)
from stages.queries.templates import TemplateTag
from store.access.idempotency import once
from store.database import Connection
from store.questions import templates
from store.questions.templates import StoredTemplate

router = APIRouter(prefix="/settings/templates", tags=["templates"])

Version = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]


@router.get("", summary="List templates")
async def list_templates(ctx: Context) -> TemplatesReply:
    """Every template with all of its versions."""
    async with ctx.database.connection() as connection:
        versions = await templates.list_all(connection)
        variables = await templates.variables_by_tag(connection)
    return TemplatesReply(templates=[_template(tag, versions, variables.get(tag, {})) for tag in TemplateTag])


@router.get("/{tag}", summary="List the versions of a template", responses=problem_responses(422))
async def list_versions(tag: TemplateTag, ctx: Context) -> list[VersionReply]:
    """All versions of a template, the newest first."""
    async with ctx.database.connection() as connection:
        versions = await templates.list_all(connection, tag)
    return [VersionReply(**_fields(version)) for version in reversed(versions)]


@router.post("/{tag}", summary="Add a version", status_code=201, responses=problem_responses(422))
async def add_version(
    tag: TemplateTag, body: TemplateBody, ctx: Context, key: Keyed, response: Response
) -> VersionAndVariablesReply:
    """Store a text as the next version, which is not used until it is activated.

    Unknown placeholders, missing required ones, and unbalanced braces are refused.
    """

    async def make(connection: Connection) -> dict[str, int]:
        return {"version": (await templates.add(connection, tag, body.template_content, title=body.title)).version}

    async with ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
        reply = await _version(connection, await templates.get(connection, tag, made["version"]))
    response.headers["Location"] = f"{router.prefix}/{tag}/{reply.version}"
    response.headers.update({} if is_new else REPLAYED)
    return reply


@router.get("/{tag}/{version}", summary="Show a version", responses=problem_responses(404, 422))
async def show_version(tag: TemplateTag, version: Version, ctx: Context) -> VersionAndVariablesReply:
    """One version of a template."""
    async with ctx.database.connection() as connection:
        return await _version(connection, await templates.get(connection, tag, version))


@router.put("/{tag}/{version}", summary="Change a version", responses=problem_responses(404, 422))
async def change_version(
    tag: TemplateTag, version: Version, body: VersionBody, ctx: Context
) -> VersionAndVariablesReply:
    """Change the title of a version. Another text is stored as the next version, because stored prompts refer to this
    one; it is active if this one was. The reply has the version that was stored."""
    async with ctx.database.connection() as connection:
        stored = await templates.change(connection, tag, version, title=body.title, text=body.template_content)
        return await _version(connection, stored)


@router.put("/{tag}/{version}/activate", summary="Activate a version", responses=problem_responses(404, 422))
async def activate_version(tag: TemplateTag, version: Version, ctx: Context) -> VersionAndVariablesReply:
    """Use this version for new prompts. Stored prompts do not change."""
    async with ctx.database.connection() as connection:
        return await _version(connection, await templates.activate(connection, tag, version))


def _template(tag: TemplateTag, stored: Sequence[StoredTemplate], variables: Mapping[str, str]) -> TemplateReply:
    versions = [VersionReply(**_fields(version)) for version in stored if version.tag == tag]
    return TemplateReply(
        function_tag=tag,
        variables=_variables(variables),
        active_version=next((version.version for version in versions if version.is_active), None),
        versions=versions,
    )


async def _version(connection: Connection, stored: StoredTemplate) -> VersionAndVariablesReply:
    variables = await templates.variables(connection, TemplateTag(stored.tag))
    return VersionAndVariablesReply(**_fields(stored), variables=_variables(variables))


def _fields(stored: StoredTemplate) -> dict[str, Any]:
    return asdict(stored) | {"function_tag": stored.tag, "template_content": stored.text}


def _variables(variables: Mapping[str, str]) -> list[Variable]:
    return [Variable(variable_name=name, variable_description=words) for name, words in variables.items()]
