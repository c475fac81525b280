"""`/ui/tags`: a box for phrases; and the candidate tags that the phrases of a run led to."""

from collections.abc import Mapping
from typing import Final

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Part, Sent, by_field, fields_of, given, page_router
from api.parameters import PathId, SearchWords
from api.rendering import page
from api.rest.tags import Name
from schemas.errors import Refused, run_missing
from schemas.values.base import Text
from schemas.values.requests import TagsPolicy, TagsRequest, TagsWanted
from services.submit import submit
from services.tags import phrase_sets, vocabulary_of_name
from stages.records import ProblemsFound
from stages.reports.tables import UI
from store import vocabularies
from store.runs import overviews

SHOWN_RUNS: Final = 10

router = page_router(UI)


@router.get("/tags")
async def tags_page(request: Request, ctx: Context, vocabulary: Text = "") -> Response:
    """The form, with a vocabulary chosen, and the newest runs of phrases."""
    return await _form(request, ctx, FormData(vocabulary=vocabulary))


@router.post("/tags")
async def find_tags(request: Request, ctx: Context, form: Sent) -> Response:
    """Submit the phrases and open their candidates; or show what is wrong."""
    phrases, context_tags = (str(form.get(name, "")) for name in ("phrases", "context_tags"))
    if not phrases.strip():
        return await _form(request, ctx, form, wrong={"phrases": "Write at least one phrase."})
    try:
        sets = phrase_sets(phrases.encode(), file="phrases", of="text", context_tags=context_tags)
        asked = TagsRequest(**given(TagsPolicy, form), phrase_sets=sets)
        (submitted,) = await submit(ctx.database, asked, ctx.run_settings())
    except ProblemsFound as error:
        return await _form(request, ctx, form, wrong={"phrases": str(error)})
    except (Refused, ValidationError) as error:
        return await _form(request, ctx, form, wrong=by_field(error))
    return RedirectResponse(f"{UI}/tags/runs/{submitted.run_id}", 303)


@router.get("/tags/runs/{run_id:int}")
async def candidates_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """The candidates of each set of phrases, with the best rank of each for a phrase."""
    async with ctx.database.connection() as connection:
        run = await overviews.get(connection, run_id)
        found = await vocabularies.results(connection, run_id=run_id)
    if not found:
        raise run_missing(run_id)
    return page(request, "candidates.html.j2", run=run, sets=found)


async def _form(request: Request, ctx: ApiContext, form: FormData, *, wrong: Mapping[str, str] = {}) -> Response:
    async with ctx.database.connection() as connection:
        found = await vocabularies.current(connection)
        runs = await overviews.overviews(connection, kind="tags", limit=SHOWN_RUNS)
    fields = fields_of(TagsPolicy)
    return page(request, "tags.html.j2", form=form, fields=fields, vocabularies=found, runs=runs, wrong=wrong)


PAGE_TAGS: Final = 100


@router.get("/vocabularies")
async def vocabularies_page(request: Request, ctx: Context) -> Response:
    """Every vocabulary with its size and its models."""
    found = await ctx.database.once(vocabularies.current)
    return page(request, "vocabularies.html.j2", vocabularies=found)


@router.get("/vocabularies/{name}")
async def vocabulary_page(
    request: Request, ctx: Context, name: Name, search: SearchWords = "", part: Part = 1
) -> Response:
    """A vocabulary: its models, and a part of its tags."""
    search = search.strip()
    async with ctx.database.connection() as connection:
        vocabulary = await vocabulary_of_name(connection, name)
        wanted = TagsWanted(search=search, limit=PAGE_TAGS, offset=(part - 1) * PAGE_TAGS)
        listed = await vocabularies.tags(connection, vocabulary.id, wanted)
    return page(
        request,
        "vocabulary.html.j2",
        vocabulary=vocabulary,
        tags=listed.items,
        search=search,
        part=part,
        parts_of_list=-(-(listed.total or 0) // PAGE_TAGS),
    )
