"""`/rag`: the questions, with their progress, next steps and answers."""

from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Annotated, Any, Final, Literal

from fastapi import Form, Query, Request
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.answers import shown_answer
from api.pages.forms import Typed, assigned, form_key, page_router
from api.parameters import PathId
from api.rendering import page
from api.security.authentication import CurrentPrincipal
from schemas.errors import LLMResponseParseError, MissingError, Refused
from schemas.settings.run import thaw
from schemas.statuses import QueryStatus
from schemas.values.base import MAX_ID, Text
from schemas.values.runs import Target
from services.questions.edits import answer, preview
from services.questions.steps import MAX_SOURCES, Step, run_stages
from services.runs import Action, control
from stages.reports.tables import UI
from stages.reports.words import basis_in_words
from stages.texts.characters import text_size
from store.corpora import corpora
from store.questions import presets, queries, query_runs
from store.questions.query_runs import query_view
from store.runs import answer_pieces, jobs, runs

PAGE_ROWS: Final = 25

router = page_router()

#: Which questions a list shows: all, those that are not ready, or those in one status.
Listed = Literal["", "pending"] | QueryStatus

_LABELS: Final[dict[Listed, str]] = {
    "": "All",
    QueryStatus.READY: "Ready",
    "pending": "Pending",
    QueryStatus.NEEDS_EMBEDDINGS: "Need embeddings",
    QueryStatus.NEEDS_RETRIEVAL: "Need retrieval",
    QueryStatus.NEEDS_CONSOLIDATION: "Need consolidation",
}


@router.get(UI)
@router.api_route("/", methods=["GET", "HEAD"])
async def home() -> Response:
    """Redirects to the questions."""
    return RedirectResponse("/rag", 303)


@router.get("/rag")
async def list_page(
    request: Request, ctx: Context, status: Listed = "", before: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """The newest questions, or those before one."""
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        statuses = _statuses(status) if status else None
        lines = await queries.lines(connection, before=before, statuses=statuses, limit=PAGE_ROWS + 1)
        progress = await jobs.progress(connection, [line.job_id for line in lines])
        counted = await queries.counts(connection)
        searchable = sum(corpus.searchable_chunks for corpus in await corpora.all_corpora(connection))
    numbers = {one: sum(counted.get(needed, 0) for needed in _statuses(one)) for one in _LABELS}
    return page(
        request,
        "questions.html.j2",
        rows=[(line, progress[line.job_id]) for line in lines[:PAGE_ROWS]],
        filters=[(one, _LABELS[one], number) for one, number in numbers.items()],
        shown=status,
        before=before,
        older=lines[PAGE_ROWS - 1].id if len(lines) > PAGE_ROWS else None,
        searchable=searchable,
        asked=numbers[""],
    )


def _statuses(listed: Listed) -> Sequence[QueryStatus]:
    """Those of the questions that a list shows."""
    if isinstance(listed, QueryStatus):
        return [listed]
    return [status for status in QueryStatus if not listed or status is not QueryStatus.READY]


@router.get("/rag/{query_id:int}")
async def question_page(
    request: Request,
    ctx: Context,
    query_id: PathId,
    top_n: Annotated[int | None, Query(ge=1, le=MAX_SOURCES)] = None,
    awaits: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
) -> Response:
    """The question. With `awaits`, the id of the newest answer so far, the page redirects to a newer one."""
    return await _page(request, ctx, query_id, top_n=top_n, awaits=awaits)


@router.post("/rag/{query_id:int}/answer")
async def ask_model(
    ctx: Context,
    query_id: PathId,
    top_n: Annotated[int | None, Form(ge=1, le=MAX_SOURCES)] = None,
    light: Annotated[bool, Form()] = False,
) -> Response:
    """Ask the model, or the light one, with `top_n` sources in its prompt. Each request makes a new answer."""
    async with ctx.database.connection() as connection:
        newest = await queries.newest_result(connection, query_id)
        await run_stages(connection, query_id, Step.ANSWER, top_n=top_n, use_light_model=light)
    return RedirectResponse(f"/rag/{query_id}?awaits={newest}", 303)


@router.post("/rag/{query_id:int}/pasted")
async def paste(
    request: Request,
    ctx: Context,
    query_id: PathId,
    principal: CurrentPrincipal,
    response_text: Annotated[Typed, Form()] = "",
    top_n: Annotated[int | None, Form(ge=1, le=MAX_SOURCES)] = None,
    once: Annotated[str, Form()] = "",
) -> Response:
    """Store a pasted answer to the prompt with `top_n` sources, and show it; one that cannot be stored stays."""
    try:
        key = form_key(principal, once, f"answer {query_id} {top_n} {response_text}")
        result_id, _ = await ctx.database.once(answer, query_id, response_text, top_n=top_n, key=key)
    except MissingError:
        raise
    except (LLMResponseParseError, Refused) as error:
        wrong = {"pasted": str(error)}
        return await _page(request, ctx, query_id, top_n=top_n, pasted=response_text, once=once, wrong=wrong)
    return RedirectResponse(f"/rag/{query_id}/results/{result_id}", 303)


@router.post("/rag/{query_id:int}/again")
async def run_with_values(
    request: Request,
    ctx: Context,
    query_id: PathId,
    preset: Annotated[Text, Form()] = "",
    values: Annotated[Typed, Form()] = "",
) -> Response:
    """Run the stages that another preset or other values change, up to the answer."""
    try:
        await ctx.database.once(run_stages, query_id, preset=preset or None, values=assigned(values))
    except MissingError:
        raise
    except Refused as error:
        return await _page(request, ctx, query_id, chosen=preset, values=values, wrong={"values": str(error)})
    return RedirectResponse(f"/rag/{query_id}", 303)


async def _page(
    request: Request,
    ctx: ApiContext,
    query_id: int,
    *,
    top_n: int | None = None,
    awaits: int | None = None,
    **filled: Any,
) -> Response:
    """Everything in one snapshot, and the forms as they were `filled`. Without a stored search there is no prompt."""
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        view = await query_view(connection, query_id)
        newest = await shown_answer(connection, view.job_id, view.answers[0]) if view.answers else None
        if awaits is not None and newest is not None and newest.result.id > awaits:
            path = f"/rag/{query_id}/results/{newest.result.id}"
            # htmx, which requests a part of a page, opens another page for a header alone.
            is_htmx = request.headers.get("hx-request") == "true"
            return Response(headers={"HX-Redirect": path}) if is_htmx else RedirectResponse(path, 303)
        prompt, notes = None, list[str]()
        if view.retrieved is not None:
            prompt = await preview(connection, view, top_n=top_n)
            notes = [*basis_in_words(prompt)]
        frozen = thaw(await runs.settings(connection, view.run_id))
        names = await presets.names(connection)
        so_far = await answer_pieces.read(connection, query_id)
    filled = {"pasted": "", "chosen": "", "values": "", "once": token_urlsafe(16)} | filled
    return page(
        request,
        "question.html.j2",
        view=view,
        newest=newest,
        prompt=prompt,
        size=None if prompt is None else text_size(prompt.prompt),
        notes=notes,
        settings=frozen.run,
        preset=frozen.preset,
        presets=names,
        so_far=so_far if so_far is not None and so_far.stage_status is not None and so_far.is_awaited else None,
        awaits=awaits,
        most=MAX_SOURCES,
        **filled,
    )


@router.post("/rag/{query_id:int}/steps")
async def take(
    query_id: PathId,
    ctx: Context,
    step: Annotated[Step | Literal["rest", "search"] | Action, Form()],
    back: Annotated[Literal["list", "question", "inspect"], Form()] = "list",
) -> Response:
    """Run one step, or every remaining one up to the answer; search again; or retry, pause, resume or cancel."""
    match step:
        case Step():
            await ctx.database.once(run_stages, query_id, step)
        case "rest":
            await ctx.database.once(run_stages, query_id)
        case "search":
            await ctx.database.once(run_stages, query_id, first="retrieve", last="consolidate")
        case Action():
            query = await ctx.database.once(queries.get, query_id)
            await control(ctx.database, Target(None, query.job_id), step)
    paths = {"list": f"/rag#question-{query_id}", "question": f"/rag/{query_id}", "inspect": f"/rag/{query_id}/inspect"}
    return RedirectResponse(paths[back], 303)


@router.post("/rag/{query_id:int}/delete")
async def delete(query_id: PathId, ctx: Context) -> Response:
    """Delete the question, and everything that was computed for it."""
    await ctx.database.once(query_runs.delete_query, query_id)
    return RedirectResponse("/rag", 303)


@router.get("/rag/{query_id:int}/results")
async def results_page(request: Request, ctx: Context, query_id: PathId) -> Response:
    """The answers, newest first."""
    view = await ctx.database.once(query_view, query_id)
    return page(request, "results.html.j2", view=view)


@router.get("/rag/{query_id:int}/results/{result_id:int}")
async def result_page(request: Request, ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """One answer, and the text of each source in its prompt."""
    async with ctx.database.connection() as connection:
        view = await query_view(connection, query_id)
        result = await queries.result(connection, query_id, result_id)
        shown = await shown_answer(connection, view.job_id, result)
    return page(request, "result.html.j2", view=view, answer=shown)


@router.post("/rag/{query_id:int}/results/{result_id:int}/delete")
async def delete_answer(ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """Delete the answer; the question is kept."""
    await ctx.database.once(query_runs.delete_result, query_id, result_id)
    return RedirectResponse(f"/rag/{query_id}/results", 303)
