"""`/tags`: a box for phrases; and the candidate tags that the phrases of a run led to."""

from secrets import token_urlsafe
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, form_key
from api.parameters import PathId, Text
from api.rendering import page
from api.routes import PageRoute
from api.security.authentication import CurrentPrincipal, Principal
from api.security.csrf import csrf
from schemas.errors import Refused, RunMissingError
from services.new_runs import Submitted
from services.submit import submit
from services.tags import TagsRequest, phrase_sets
from stages.files.records import ProblemsFound
from store.runs import overviews
from store.vocabularies import tag_runs, vocabularies

SHOWN_RUNS: Final = 10

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class PhrasesForm(BaseModel):
    """The form as it was filled in."""

    phrases: Typed = ""
    vocabulary: Text = ""
    context_tags: Text = ""
    allow_nsfw: bool = False
    once: str = ""
    """Generated with the form, so that sending the same form twice submits once."""

    def request(self) -> TagsRequest:
        """The request to submit. Raises ProblemsFound with the lines that cannot be read."""
        return TagsRequest(
            phrase_sets=phrase_sets(self.phrases.encode(), file="phrases", of="text", context_tags=self.context_tags),
            vocabulary=self.vocabulary,
            allow_nsfw_tags=self.allow_nsfw,
        )


@router.get("/tags")
async def tags_page(request: Request, ctx: Context, vocabulary: Text = "") -> Response:
    """The form, with a vocabulary chosen, and the newest runs of phrases."""
    return await _form(request, ctx, PhrasesForm(vocabulary=vocabulary, once=token_urlsafe(16)))


@router.post("/tags", dependencies=[Depends(csrf)])
async def find_tags(
    request: Request, ctx: Context, principal: CurrentPrincipal, form: Annotated[PhrasesForm, Form()]
) -> Response:
    """Submit the phrases and open their candidates; or show what is wrong."""
    if not form.phrases.strip():
        return await _form(request, ctx, form, wrong={"phrases": "Write at least one phrase."})
    try:
        submitted = await _submit(ctx, form, principal)
    except ProblemsFound as error:
        return await _form(request, ctx, form, wrong={"phrases": str(error)})
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
    return RedirectResponse(f"/tags/runs/{submitted.run_id}", 303)


@router.get("/tags/runs/{run_id:int}")
async def candidates_page(
    request: Request,
    ctx: Context,
    run_id: PathId,
    verbose: Annotated[bool, Query()] = False,
    phrase_ranks: Annotated[bool, Query()] = False,
) -> Response:
    """The candidates of each set of phrases, with reports by phrase and ranks as far as asked for."""
    async with ctx.database.connection() as connection:
        run = await overviews.overview(connection, run_id)
        found = await tag_runs.results(connection, run_id=run_id)
    if run is None or not found:
        raise RunMissingError(run_id)
    return page(request, "candidates.html.j2", run=run, sets=found, verbose=verbose, phrase_ranks=phrase_ranks)


async def _submit(ctx: ApiContext, form: PhrasesForm, principal: Principal) -> Submitted:
    key = form_key(principal, form.once, "phrases", form)
    return await submit(ctx.database, form.request(), ctx.run_settings(), key=key)


async def _form(
    request: Request, ctx: ApiContext, form: PhrasesForm, *, wrong: dict[str, str] | None = None
) -> Response:
    async with ctx.database.connection() as connection:
        found = await vocabularies.current(connection)
        runs = await overviews.overviews(connection, kind="tags", limit=SHOWN_RUNS)
    return page(
        request,
        "tags.html.j2",
        status=422 if wrong else 200,
        form=form,
        vocabularies=found,
        runs=runs,
        wrong=wrong or {},
    )
