"""`/templates`: the prompts of language model calls, and their versions."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed
from api.rendering import page
from api.rest.presets import TemplateBody, Version
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.errors import TemplateError
from schemas.values.base import Text, first_problem
from stages.queries.templates import RULES, TemplateTag
from store.questions import presets

NOTICES: Final = {
    "added": "The version is added. It is used once it is activated.",
    "active": "New prompts use this version. Stored prompts do not change.",
}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/templates")
async def templates_page(request: Request, ctx: Context) -> Response:
    """Every template with its active version."""
    async with ctx.database.connection() as connection:
        stored = await presets.all_templates(connection)
    versions = {tag: [one for one in stored if one.tag == tag] for tag in TemplateTag}
    return page(request, "templates.html.j2", versions=versions, rules=RULES)


@router.get("/templates/{tag}")
async def template_page(
    request: Request,
    ctx: Context,
    tag: TemplateTag,
    of: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    notice: str = "",
) -> Response:
    """The versions of a template with their texts, newest first, its placeholders, and the form for a new version,
    which starts from one of them; by default from the active one."""
    return await _page(request, ctx, tag, of=of, notice=notice)


@router.post("/templates/{tag}", dependencies=[Depends(csrf)])
async def add(
    request: Request,
    ctx: Context,
    tag: TemplateTag,
    title: Annotated[Text, Form()] = "",
    text: Annotated[Typed, Form()] = "",
) -> Response:
    """Add the version and show it; or show what is wrong beside its field."""
    try:
        new = TemplateBody(title=title.strip(), template_content=text)
        async with ctx.database.connection() as connection:
            added = await presets.add_template(connection, tag, new.template_content, title=new.title)
    except ValidationError as error:
        problem = first_problem(error)
        wrong = {"title" if problem.field == "title" else "text": problem.words}
        return await _page(request, ctx, tag, title=title, text=text, wrong=wrong)
    except TemplateError as error:
        return await _page(request, ctx, tag, title=title, text=text, wrong={"text": str(error)})
    return RedirectResponse(f"/templates/{tag}?notice=added#version-{added.version}", 303)


@router.post("/templates/{tag}/{version:int}/activate", dependencies=[Depends(csrf)])
async def activate(ctx: Context, tag: TemplateTag, version: Version) -> Response:
    """Use the version for new prompts."""
    async with ctx.database.connection() as connection:
        await presets.activate_template(connection, tag, version)
    return RedirectResponse(f"/templates/{tag}?notice=active#version-{version}", 303)


async def _page(
    request: Request,
    ctx: ApiContext,
    tag: TemplateTag,
    *,
    of: int | None = None,
    text: str | None = None,
    title: str = "",
    notice: str = "",
    wrong: dict[str, str] | None = None,
) -> Response:
    async with ctx.database.connection() as connection:
        versions = (await presets.all_templates(connection, tag))[::-1]
    origin = next((one for one in versions if one.version == of or (of is None and one.is_active)), None)
    if of is not None and origin is None:
        raise presets.template_missing(tag, of)
    return page(
        request,
        "template.html.j2",
        status=422 if wrong else 200,
        tag=tag,
        rules=RULES[tag],
        versions=versions,
        origin=origin,
        text=text if origin is None or text is not None else origin.text,
        title=title,
        notice=NOTICES.get(notice),
        wrong=wrong or {},
    )
