"""`/rag`: the questions, with their progress and next steps."""

from secrets import token_urlsafe
from typing import Annotated, Any, Final, Literal, NamedTuple

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel, ValidationError
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Next, Typed, assigned, can_run_all, form_key, next_step
from api.pages.results import ShownAnswer, shown_answer
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.authentication import CurrentPrincipal
from api.security.csrf import csrf
from schemas.errors import LLMResponseParseError, QueryMissingError, Refused
from schemas.settings.frozen import thaw
from schemas.settings.preset import Preset
from schemas.settings.run import RunSettings
from schemas.statuses import QueryStatus
from schemas.values.base import MAX_ID, Text, first_problem
from schemas.values.queries import AugmentedPrompt
from schemas.values.requests import QueryEdit
from schemas.values.runs import Target
from services.questions.answers import answer, preview
from services.questions.edits import edit
from services.questions.steps import MAX_SOURCES, Step, run_stages, take_step
from services.runs import Action, control
from stages.queries.augment import basis_in_words
from stages.queries.query_files import MAX_CHARS
from stages.texts.characters import text_size
from store.corpora import corpora
from store.questions import presets, queries, query_runs
from store.questions.answers import answer_basis
from store.questions.queries import QueryLine
from store.questions.query_runs import QueryView, existing_view
from store.runs import answer_pieces, jobs, stored_runs
from store.runs.answer_pieces import AnswerSoFar
from store.runs.jobs import JobProgress

PAGE_ROWS: Final = 25

# No resource shares these addresses, so every client gets their pages.
lists = APIRouter(include_in_schema=False)
router = APIRouter(route_class=PageRoute, include_in_schema=False)


#: Which questions a list shows: all, those that are not ready, or those in one status.
Listed = Literal["", "pending"] | QueryStatus

_PENDING: Final = tuple(status for status in QueryStatus if status is not QueryStatus.READY)
_LABELS: Final[dict[Listed, str]] = {
    "": "All",
    QueryStatus.READY: "Ready",
    "pending": "Pending",
    QueryStatus.NEEDS_EMBEDDINGS: "Need embeddings",
    QueryStatus.NEEDS_RETRIEVAL: "Need retrieval",
    QueryStatus.NEEDS_CONSOLIDATION: "Need consolidation",
    QueryStatus.VEC_ERR: "Embedding failed",
}


class QuestionRow(NamedTuple):
    """A question of the list."""

    line: QueryLine
    progress: JobProgress
    next: Next | None
    can_run_all: bool


class Filter(NamedTuple):
    """A filter of the list, with the number of its questions."""

    shown: Listed
    label: str
    number: int


@lists.api_route("/", methods=["GET", "HEAD"])
async def home() -> Response:
    """Redirects to the questions."""
    return RedirectResponse("/rag", 303)


@lists.get("/rag")
async def list_page(
    request: Request, ctx: Context, status: Listed = "", before: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """The newest questions, or those before one."""
    statuses = (status,) if isinstance(status, QueryStatus) else _PENDING if status == "pending" else None
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        lines = await queries.lines(connection, before=before, statuses=statuses, limit=PAGE_ROWS + 1)
        progress = await jobs.progress(connection, [line.job_id for line in lines])
        counted = await queries.counts(connection)
        searchable = sum(corpus.searchable_chunks for corpus in await corpora.all_corpora(connection))
    rows = [
        QuestionRow(line, progress[line.job_id], next_step(line, progress[line.job_id]), can_run_all(line))
        for line in lines[:PAGE_ROWS]
    ]
    return page(
        request,
        "questions.html.j2",
        rows=rows,
        filters=_filters(counted, status),
        shown=status,
        before=before,
        older=rows[-1].line.id if len(lines) > PAGE_ROWS else None,
        searchable=searchable,
        asked=sum(counted.values()),
    )


def _filters(counted: dict[QueryStatus, int], current: Listed) -> list[Filter]:
    """All, ready, pending, and each step that some question needs."""
    numbers: dict[Listed, int] = {
        "": sum(counted.values()),
        QueryStatus.READY: counted.get(QueryStatus.READY, 0),
        "pending": sum(counted.get(status, 0) for status in _PENDING),
    }
    rare = {status: counted.get(status, 0) for status in _PENDING if status in counted or status is current}
    return [Filter(shown, _LABELS[shown], number) for shown, number in (numbers | rare).items()]


Sources = Annotated[int | None, Query(ge=1, le=MAX_SOURCES)]
Awaited = Annotated[int | None, Query(ge=0, le=MAX_ID)]


class PastedAnswerForm(BaseModel):
    """The answer of an external model to the prompt with `top_n` sources."""

    response_text: Typed = ""
    top_n: Annotated[int, Form(ge=1, le=MAX_SOURCES)] | None = None
    once: str = ""


class ValuesForm(BaseModel):
    """Other values to run a question with: a preset, and values that win over it, one `NAME=VALUE` per line."""

    preset: Text = ""
    """Empty for the values that the question has."""
    values: Typed = ""
    until: Literal["", "consolidate"] = ""


class QuestionContent(NamedTuple):
    """The content of the page."""

    view: QueryView
    newest: ShownAnswer | None
    """The newest of the answers."""
    prompt: AugmentedPrompt | None
    """None before a search is stored."""
    settings: RunSettings | None
    """The settings of the run; None where the prompt is."""
    presets: list[str]
    """The names of the stored presets, the default first."""
    preset: Preset
    """The values that the question was last run with."""
    notes: list[str]
    """What was lost or replaced on the way to the prompt."""
    so_far: AnswerSoFar | None
    """The answer that is awaited, as far as it is written; None where none is."""


@router.get("/rag/{query_id:int}")
async def question_page(
    request: Request,
    ctx: Context,
    query_id: PathId,
    top_n: Sources = None,
    awaits: Awaited = None,
) -> Response:
    """The question. With `awaits`, the id of the newest answer so far, the page redirects to a newer one."""
    shown = await _read(ctx, query_id, top_n)
    newest = max((result.id for result in shown.view.answers), default=0)
    if awaits is not None and newest > awaits:
        return _redirect(request, f"/rag/{query_id}/results/{newest}")
    return _page(request, shown, awaits=awaits)


@router.post("/rag/{query_id:int}/answer", dependencies=[Depends(csrf)])
async def ask_model(
    ctx: Context,
    query_id: PathId,
    top_n: Annotated[int | None, Form(ge=1, le=MAX_SOURCES)] = None,
    light: Annotated[bool, Form()] = False,
) -> Response:
    """Ask the model, or the light one, with `top_n` sources in its prompt. Each request makes a new answer."""
    async with ctx.database.connection() as connection:
        asked = await queries.get(connection, query_id)
        newest = await queries.newest_result(connection, query_id)
        await take_step(connection, asked, Step.ANSWER, top_n=top_n, use_light_model=light)
    return RedirectResponse(f"/rag/{query_id}?awaits={newest}", 303)


@router.post("/rag/{query_id:int}/pasted", dependencies=[Depends(csrf)])
async def paste(
    request: Request,
    ctx: Context,
    query_id: PathId,
    principal: CurrentPrincipal,
    form: Annotated[PastedAnswerForm, Form()],
) -> Response:
    """Store a pasted answer, and show it. One that cannot be stored stays in its field."""
    try:
        async with ctx.database.connection() as connection:
            query = await queries.get(connection, query_id)
            key = form_key(principal, form.once, f"answer {query_id}", form)
            stored = await answer(connection, query, form.response_text, top_n=form.top_n, key=key)
    except QueryMissingError:
        raise
    except (LLMResponseParseError, Refused) as error:
        shown = await _read(ctx, query_id, form.top_n)
        return _page(request, shown, pasted=form.response_text, once=form.once, wrong={"pasted": str(error)})
    return RedirectResponse(f"/rag/{query_id}/results/{stored.result_id}", 303)


@router.post("/rag/{query_id:int}/again", dependencies=[Depends(csrf)])
async def run_with_values(
    request: Request, ctx: Context, query_id: PathId, form: Annotated[ValuesForm, Form()]
) -> Response:
    """Run the stages that other values change, up to the answer or to the passages."""
    try:
        async with ctx.database.connection() as connection:
            asked = await queries.get(connection, query_id)
            values = assigned(form.values, field="values")
            await run_stages(connection, asked, last=form.until or None, preset=form.preset or None, values=values)
    except QueryMissingError:
        raise
    except Refused as error:
        shown = await _read(ctx, query_id, None)
        return _page(request, shown, chosen=form, wrong={"values": str(error)})
    return RedirectResponse(f"/rag/{query_id}", 303)


@router.post("/rag/{query_id:int}/text", dependencies=[Depends(csrf)])
async def rewrite(
    request: Request, ctx: Context, query_id: PathId, question: Annotated[Typed, Form()] = ""
) -> Response:
    """Change the question. The expansion is kept; later outputs become stale."""
    try:
        changes = QueryEdit(original_query=question)
    except ValidationError as error:
        shown = await _read(ctx, query_id, None)
        return _page(request, shown, question=question, wrong={"question": first_problem(error).words})
    async with ctx.database.connection() as connection:
        await edit(connection, await queries.get(connection, query_id), changes, run=False)
    return RedirectResponse(f"/rag/{query_id}", 303)


async def _read(ctx: ApiContext, query_id: int, top_n: int | None) -> QuestionContent:
    """Everything in one snapshot."""
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        view = await existing_view(connection, query_id)
        newest = await shown_answer(connection, view.line.job_id, view.answers[0]) if view.answers else None
        prompt = settings = None
        notes: list[str] = []
        frozen = thaw(await stored_runs.settings(connection, view.line.run_id))
        stored = await presets.names(connection)
        if view.retrieved is not None:
            prompt = await preview(connection, await queries.get(connection, query_id), top_n=top_n)
            notes = basis_in_words(await answer_basis(connection, view.line.job_id, prompt))
            settings = frozen.run
        so_far = await answer_pieces.read(connection, query_id)
        if so_far is not None and (so_far.stage_status is None or not so_far.is_awaited):
            so_far = None
    assert frozen.preset is not None
    return QuestionContent(
        view=view,
        newest=newest,
        prompt=prompt,
        settings=settings,
        presets=stored,
        preset=frozen.preset,
        notes=notes,
        so_far=so_far,
    )


def _page(
    request: Request,
    shown: QuestionContent,
    *,
    awaits: int | None = None,
    question: str | None = None,
    pasted: str = "",
    chosen: ValuesForm | None = None,
    once: str | None = None,
    wrong: dict[str, str] | None = None,
) -> Response:
    line = shown.view.line
    values: dict[str, Any] = shown._asdict() | {
        "line": line,
        "progress": shown.view.progress,
        "next": next_step(line, shown.view.progress),
        "can_run_all": can_run_all(line),
        "size": None if shown.prompt is None else text_size(shown.prompt.prompt),
        "question": line.original_query if question is None else question,
        "pasted": pasted,
        "chosen": chosen or ValuesForm(),
        "once": once or token_urlsafe(16),
        "wrong": wrong or {},
        "awaits": awaits,
        "longest": MAX_CHARS,
        "most": MAX_SOURCES,
    }
    return page(request, "question.html.j2", status=422 if wrong else 200, **values)


def _redirect(request: Request, path: str) -> Response:
    """A redirect. For htmx, which requests a part of a page, a header that opens another page."""
    if request.headers.get("hx-request") == "true":
        return Response(headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


actions = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[Depends(csrf)])


@actions.post("/rag/{query_id:int}/steps")
async def take(
    query_id: PathId,
    ctx: Context,
    step: Annotated[Step | Literal["rest", "search"] | Action, Form()],
    back: Annotated[Literal["list", "question", "inspect"], Form()] = "list",
) -> Response:
    """Run one step, or every remaining one up to the answer; search again; or retry, pause, resume or cancel.

    Work continues when the tab is closed.
    """
    async with ctx.database.connection() as connection:
        query = await queries.get(connection, query_id)
        match step:
            case Step():
                await take_step(connection, query, step)
            case "rest":
                await run_stages(connection, query)
            case "search":
                await take_step(connection, query, Step.RETRIEVE, through=Step.CONSOLIDATE)
    if isinstance(step, Action):
        await control(ctx.database, Target(None, query.job_id), step)
    paths = {"list": f"/rag#question-{query_id}", "question": f"/rag/{query_id}", "inspect": f"/rag/{query_id}/inspect"}
    return RedirectResponse(paths[back], 303)


@actions.post("/rag/{query_id:int}/delete")
async def delete(query_id: PathId, ctx: Context) -> Response:
    """Delete the question, and everything that was computed for it."""
    async with ctx.database.connection() as connection:
        await query_runs.delete_query(connection, await queries.get(connection, query_id))
    return RedirectResponse("/rag", 303)
