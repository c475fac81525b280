"""`/templates`: the prompts of language model calls, their versions, and two versions compared."""

import asyncio
import re
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.compare import changed_lines
from api.pages.forms import Typed
from api.rendering import page
from api.rest.presets import TemplateBody, Version
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.errors import TemplateError
from schemas.values.base import Text, first_problem
from stages.queries.templates import RULES, TemplateTag
from store.database import Connection
from store.questions import templates
from store.questions.templates import StoredTemplate

NOTICES: Final = {
    "added": "The version is added. It is used once it is activated.",
    "active": "New prompts use this version. Stored prompts do not change.",
}

#: A placeholder, or a doubled brace.
_BRACES: Final = re.compile(r"(\{\{|\}\}|\{\w+\})")

VersionNumber = Annotated[int, Query(ge=1, le=2**31 - 1)]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/templates")
async def templates_page(request: Request, ctx: Context) -> Response:
    """Every template with its active version."""
    async with ctx.database.connection() as connection:
        stored = await templates.list_all(connection)
    versions = {tag: [one for one in stored if one.tag == tag] for tag in TemplateTag}
    return page(request, "templates.html.j2", versions=versions, rules=RULES)


@router.get("/templates/{tag}")
async def template_page(request: Request, ctx: Context, tag: TemplateTag) -> Response:
    """The versions of a template, newest first, and its placeholders."""
    async with ctx.database.connection() as connection:
        versions = await _versions(connection, tag)
    active = next((one.version for one in versions if one.is_active), None)
    return page(
        request,
        "template.html.j2",
        tag=tag,
        rules=RULES[tag],
        versions=versions,
        active=active,
        newest=versions[0].version if versions else None,
    )


@router.get("/templates/{tag}/new")
async def new_page(request: Request, ctx: Context, tag: TemplateTag, of: VersionNumber | None = None) -> Response:
    """The text of a version to start from; by default the active one."""
    async with ctx.database.connection() as connection:
        origin = await templates.get(connection, tag, of)
    return _form(request, tag, text=origin.text)


@router.post("/templates/{tag}/new", dependencies=[Depends(csrf)])
async def add(
    request: Request,
    ctx: Context,
    tag: TemplateTag,
    title: Annotated[Text, Form()] = "",
    text: Annotated[Typed, Form()] = "",
) -> Response:
    """Add the version and open it; or show what is wrong beside its field."""
    try:
        new = TemplateBody(title=title.strip(), template_content=text)
        async with ctx.database.connection() as connection:
            added = await templates.add(connection, tag, new.template_content, title=new.title)
    except ValidationError as error:
        problem = first_problem(error)
        wrong = {"title" if problem.field == "title" else "text": problem.words}
        return _form(request, tag, title=title, text=text, wrong=wrong)
    except TemplateError as error:
        return _form(request, tag, title=title, text=text, wrong={"text": str(error)})
    return RedirectResponse(f"/templates/{tag}/{added.version}?notice=added", 303)


@router.get("/templates/{tag}/diff")
async def diff_page(
    request: Request, ctx: Context, tag: TemplateTag, old: VersionNumber, new: VersionNumber
) -> Response:
    """The changes from one version to another."""
    async with ctx.database.connection() as connection:
        versions = await _versions(connection, tag)
    before, after = _numbered(versions, tag, old), _numbered(versions, tag, new)
    return page(
        request,
        "template_diff.html.j2",
        tag=tag,
        versions=versions,
        old=before,
        new=after,
        lines=await asyncio.to_thread(changed_lines, before.text, after.text),
    )


@router.get("/templates/{tag}/{version:int}")
async def version_page(
    request: Request, ctx: Context, tag: TemplateTag, version: Version, notice: str = ""
) -> Response:
    """The text of a version with its placeholders marked."""
    async with ctx.database.connection() as connection:
        versions = await _versions(connection, tag)
    shown = _numbered(versions, tag, version)
    return page(
        request,
        "template_version.html.j2",
        tag=tag,
        version=shown,
        pieces=_BRACES.split(shown.text),
        active=next((one.version for one in versions if one.is_active), None),
        earlier=next((one.version for one in versions if one.version < version), None),
        rules=RULES[tag],
        notice=NOTICES.get(notice),
    )


@router.post("/templates/{tag}/{version:int}/activate", dependencies=[Depends(csrf)])
async def activate(ctx: Context, tag: TemplateTag, version: Version) -> Response:
    """Use the version for new prompts."""
    async with ctx.database.connection() as connection:
        await templates.activate(connection, tag, version)
    return RedirectResponse(f"/templates/{tag}/{version}?notice=active", 303)


def _form(
    request: Request, tag: TemplateTag, *, text: str, title: str = "", wrong: dict[str, str] | None = None
) -> Response:
    return page(
        request,
        "new_template_version.html.j2",
        status=422 if wrong else 200,
        tag=tag,
        title=title,
        text=text,
        rules=RULES[tag],
        wrong=wrong or {},
    )


async def _versions(connection: Connection, tag: TemplateTag) -> list[StoredTemplate]:
    """Newest first."""
    return sorted(await templates.list_all(connection, tag), key=lambda one: one.version, reverse=True)


def _numbered(versions: list[StoredTemplate], tag: TemplateTag, number: int) -> StoredTemplate:
    for version in versions:
        if version.version == number:
            return version
    raise templates.template_missing(tag, number)
