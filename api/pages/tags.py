"""`/ui/tags`: a box for phrases; and the candidate tags that the phrases of a run led to."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Form, Path, Request
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Part, Typed, page_router
from api.parameters import PathId, SearchWords
from api.rendering import page
from schemas.errors import Refused, run_missing
from schemas.values.base import Text
from schemas.values.requests import TagsRequest, TagsWanted
from services.submit import submit
from services.tags import phrase_sets, vocabulary_of_name
from stages.records import ProblemsFound
from stages.reports.tables import UI
from store import vocabularies
from store.runs import overviews

SHOWN_RUNS: Final = 10

router = page_router(UI)


class PhrasesForm(BaseModel):
    """The form as it was filled in."""

    phrases: Typed = ""
    vocabulary: Text = ""
    context_tags: Text = ""
    allow_nsfw: bool = False

    def request(self) -> TagsRequest:
        """The request to submit. Raises ProblemsFound with the lines that cannot be read."""
        return TagsRequest(
            phrase_sets=phrase_sets(self.phrases.encode(), file="phrases", of="text", context_tags=self.context_tags),
            vocabulary=self.vocabulary,
            allow_nsfw=self.allow_nsfw,
        )


@router.get("/tags")
async def tags_page(request: Request, ctx: Context, vocabulary: Text = "") -> Response:
    """The form, with a vocabulary chosen, and the newest runs of phrases."""
    return await _form(request, ctx, PhrasesForm(vocabulary=vocabulary))


@router.post("/tags")
async def find_tags(request: Request, ctx: Context, form: Annotated[PhrasesForm, Form()]) -> Response:
    """Submit the phrases and open their candidates; or show what is wrong."""
    if not form.phrases.strip():
        return await _form(request, ctx, form, wrong={"phrases": "Write at least one phrase."})
    try:
        (submitted,) = await submit(ctx.database, form.request(), ctx.run_settings())
    except ProblemsFound as error:
        return await _form(request, ctx, form, wrong={"phrases": str(error)})
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
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


async def _form(request: Request, ctx: ApiContext, form: PhrasesForm, *, wrong: Mapping[str, str] = {}) -> Response:
    async with ctx.database.connection() as connection:
        found = await vocabularies.current(connection)
        runs = await overviews.overviews(connection, kind="tags", limit=SHOWN_RUNS)
    return page(request, "tags.html.j2", form=form, vocabularies=found, runs=runs, wrong=wrong)


PAGE_TAGS: Final = 100

Name = Annotated[str, Path(pattern=r"^[^\x00/]{1,64}$")]


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
