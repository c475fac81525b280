"""`/rag/{id}/results`: the answers to a question, with their sources."""

from typing import Final, NamedTuple

from fastapi import APIRouter, Depends, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.markdown import answer_html
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.values.queries import Source
from services.questions.lookup import get_query
from stages.queries.prompt_sources import SourceText, source_texts
from store.database import Connection
from store.questions import answer_prompts, deletions, queries
from store.questions.queries import StoredResult
from store.questions.query_view import existing_view

#: Characters of an answer that the list shows.
EXCERPT: Final = 340

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ShownSource(NamedTuple):
    """A source of an answer's prompt."""

    source: Source
    text: SourceText | None
    """None when the prompt is no longer stored."""
    is_cited: bool


class ShownAnswer(NamedTuple):
    """An answer with the text of each source in its prompt."""

    result: StoredResult
    html: Markup
    sources: list[ShownSource]
    """Those that it cites, then those that were only in its prompt."""
    prompt: str | None
    """None when it is no longer stored."""


async def shown_answer(connection: Connection, job_id: int, result: StoredResult) -> ShownAnswer:
    """An answer as pages show it, with links to the sources beside it."""
    prompt = await answer_prompts.prompt(connection, job_id, result.prompt_hash)
    sources = [Source.model_validate(source) for source in result.sources]
    labels = [source.label for source in sources]
    texts = {} if prompt is None else source_texts(prompt, sources)
    shown = [ShownSource(source, texts.get(source.label), source.label in result.cited) for source in sources]
    return ShownAnswer(
        result=result,
        html=answer_html(result.response_text, labels),
        sources=sorted(shown, key=lambda source: not source.is_cited),
        prompt=prompt,
    )


@router.get("/rag/{query_id:int}/results")
async def results_page(request: Request, ctx: Context, query_id: PathId) -> Response:
    """The answers, newest first."""
    async with ctx.database.connection() as connection:
        view = await existing_view(connection, query_id)
        results = await queries.results(connection, query_id)
    return page(request, "results.html.j2", line=view.line, view=view, results=results, excerpt=EXCERPT)


@router.get("/rag/{query_id:int}/results/{result_id:int}")
async def result_page(request: Request, ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """One answer, and the text of each source in its prompt."""
    async with ctx.database.connection() as connection:
        view = await existing_view(connection, query_id)
        result = await queries.result(connection, query_id, result_id)
        shown = await shown_answer(connection, view.line.job_id, result)
    return page(request, "result.html.j2", line=view.line, view=view, answer=shown, result=result)


@router.post("/rag/{query_id:int}/results/{result_id:int}/delete", dependencies=[Depends(csrf)])
async def delete(ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """Delete the answer; the question is kept."""
    async with ctx.database.connection() as connection:
        await deletions.delete_result(connection, await get_query(connection, query_id), result_id)
    return RedirectResponse(f"/rag/{query_id}/results", 303)
