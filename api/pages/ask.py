"""`/rag/new`: a new question, expanded by a model, by a pasted reply, or not at all."""

from collections.abc import Mapping, Sequence
from secrets import token_urlsafe
from typing import Annotated, Any, Final

from fastapi import Form, Query, Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Sent, by_field, fields_of, filled, form_key, given, page_router
from api.parameters import PathId
from api.rendering import page
from api.security.authentication import CurrentPrincipal
from schemas.errors import LLMResponseParseError, MissingError, QueryValueError, Refused, StageRunningError
from schemas.values.documents import WorkFilter
from schemas.values.queries import Intent
from schemas.values.requests import QueryEdit, QueryRequest
from services.questions.edits import ask, edit, preview_expansion_prompt
from services.questions.submission import with_chosen_models
from stages.queries.expand import no_expansion, pasted_expansion
from stages.queries.query_files import MAX_CHARS, single_query
from store.corpora import corpora, works
from store.questions import presets, queries
from store.questions.query_runs import QueryView, query_view
from store.runs import attempts

router = page_router()


@router.get("/rag/new")
async def new_page(
    request: Request, ctx: Context, q: Annotated[str, Query()] = "", corpus: str = "", preset: str = ""
) -> Response:
    """The empty form; `q` fills in the question. It has the corpora of the newest question chosen."""
    newest = await ctx.database.once(queries.lines, limit=1)
    chosen = [corpus] if corpus else [name for line in newest for name in line.corpora]
    # Sending the same form twice asks once.
    fields = {"question": q, "config_preset": preset, "once": token_urlsafe(16)}
    return await _form(request, ctx, FormData([*fields.items(), *(("corpora", name) for name in chosen)]))


@router.post("/rag/new")
async def new(request: Request, ctx: Context, principal: CurrentPrincipal, form: Sent) -> Response:
    """Ask; or show the prompt for an external model. Invalid values are reported beside their fields."""
    if form.get("click") == "prompt":
        return await _form(request, ctx, form)
    reply = str(form.get("reply", "")) if form.get("expansion") == "paste" else None
    try:
        if reply is not None:
            pasted_expansion(reply)
        conditions = WorkFilter(**given(WorkFilter, form))
        question = single_query(str(form.get("question", "")))
        others = {"works": conditions, "expand": form.get("expansion") != "none", "expansion_reply": reply}
        asked = QueryRequest(**given(QueryRequest, form) | others, queries=question)
        key = form_key(principal, str(form.get("once", "")), f"question {asked.model_dump_json()}")
        query, _ = await ctx.database.once(ask, asked, ctx.run_settings(), key=key)
    except QueryValueError as error:
        return await _form(request, ctx, form, wrong={"question": f"The question {error.problem}."})
    except LLMResponseParseError as error:
        return await _form(request, ctx, form, wrong={"reply": str(error)})
    except (Refused, ValidationError) as error:
        return await _form(request, ctx, form, wrong=by_field(error))
    return RedirectResponse(f"/rag/{query.id}", 303)


async def _form(request: Request, ctx: ApiContext, form: FormData, *, wrong: Mapping[str, str] = {}) -> Response:
    prompt = None
    preset = str(form.get("config_preset", ""))
    async with ctx.database.connection() as connection:
        found = await corpora.all_corpora(connection)
        stored = await presets.list_all(connection)
        if form.get("expansion") == "paste":
            try:
                question = str(form.get("question", ""))
                prompt, _ = await preview_expansion_prompt(connection, question, preset=preset or None)
            except QueryValueError as error:
                wrong = {"question": f"The question {error.problem}.", **wrong}
            except Refused as error:
                wrong = {"form": str(error), **wrong}
        run = (await with_chosen_models(connection, ctx.run_settings())).run
    choice = {"true": f"{run.query_model} (full model)", "false": f"{run.query_light_model} (light model)"}
    return page(
        request,
        "ask.html.j2",
        form=form,
        works=fields_of(WorkFilter),
        is_narrowed=bool(given(WorkFilter, form)),
        corpora=found,
        presets=stored,
        prompt=prompt,
        models=choice if run.query_light_model != run.query_model else {},
        expands=run.ragq.expander == "model",
        wrong=wrong,
        longest=MAX_CHARS,
    )


#: An edit has to keep this many passages, or all where there are fewer.
FEWEST: Final = 3

NOTICES: Final = {
    "expansion": "The expansion is saved. What was computed from the old one is discarded (kept in history).",
    "context": "The passages are saved; prompts have them in this order.",
    "same": "Nothing was changed.",
}


Shown = tuple[QueryView, str, Mapping[int, str]]
"""A question, the hash of its context, and the titles of the works that are involved."""


@router.get("/rag/{query_id:int}/inspect")
async def inspect_page(request: Request, ctx: Context, query_id: PathId) -> Response:
    """The expansion and the context with their forms; the chunks with scores and verdicts."""
    return _page(request, await _read(ctx, query_id))


@router.post("/rag/{query_id:int}/expansion")
async def edit_expansion(request: Request, ctx: Context, query_id: PathId, form: Sent) -> Response:
    """Save the expansion. Invalid values stay in their fields, with the reason."""
    sent = filled(QueryEdit, form)
    try:
        is_changed = await ctx.database.once(edit, query_id, QueryEdit(**sent), run=False)
    except (ValidationError, StageRunningError) as error:
        return _page(request, await _read(ctx, query_id), expansion=sent, wrong=by_field(error, "expansion"))
    return RedirectResponse(f"/rag/{query_id}/inspect?notice={'expansion' if is_changed else 'same'}", 303)


@router.post("/rag/{query_id:int}/context")
async def edit_context(
    request: Request,
    ctx: Context,
    query_id: PathId,
    of: Annotated[str, Form()],
    group: Annotated[list[int], Form()],
    at: Annotated[list[int], Form()],
    drop: Annotated[list[int], Form(default_factory=list)],
) -> Response:
    """Save the order, and which passages are kept. `group` has all passages of the context with the hash `of`, by their
    places in it, from 1; `at` has the new place of each."""
    shown = view, context_hash, _ = await _read(ctx, query_id)
    groups = view.consolidated.groups if view.consolidated is not None else ()
    if of != context_hash or sorted(group) != list(range(1, len(groups) + 1)) or len(at) != len(group):
        changed = "The passages changed meanwhile; these are the new ones. Order them again."
        return _page(request, shown, wrong={"context": changed})
    # One that was moved up comes before the one that has the place.
    moved = sorted((to, (to > place) - (to < place), group[place - 1]) for place, to in enumerate(at, start=1))
    order = [one for _, _, one in moved]
    kept = [one for one in order if one not in drop]
    try:
        if len(kept) < min(FEWEST, len(groups)):
            raise QueryValueError("context", f"has to keep at least {min(FEWEST, len(groups))} passages")
        is_changed = await ctx.database.once(edit, query_id, context=kept, run=False)
    except MissingError:
        raise
    except Refused as error:
        return _page(request, shown, order=order, leaving=drop, wrong={"context": str(error)})
    return RedirectResponse(f"/rag/{query_id}/inspect?notice={'context' if is_changed else 'same'}#context", 303)


async def _read(ctx: ApiContext, query_id: int) -> Shown:
    """Everything in one snapshot."""
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        view = await query_view(connection, query_id)
        context = await attempts.output(connection, view.job_id, "consolidate")
        involved = {chunk.work_id for chunk in view.reranked.chunks} if view.reranked is not None else set()
        if view.consolidated is not None:
            involved |= {group.work_id for group in view.consolidated.groups}
        return view, "" if context is None else context.hash, await works.titles(connection, sorted(involved))


def _page(request: Request, shown: Shown, *, order: Sequence[int] | None = None, **sent: Any) -> Response:
    view, context_hash, titles = shown
    groups = () if view.consolidated is None else view.consolidated.groups
    chunks = () if view.reranked is None else view.reranked.chunks
    stored = view.expansion or no_expansion()
    parts = stored.model_dump(include={"intent", "hyde_answer", "entities"}) | {"expanded_queries": stored.queries}
    sent = {"expansion": parts, "leaving": ()} | sent
    return page(
        request,
        "inspect.html.j2",
        notices=NOTICES,
        view=view,
        context_hash=context_hash,
        titles=titles,
        passages=[(place, groups[place - 1]) for place in order or range(1, len(groups) + 1)],
        scores={chunk.chunk_id: chunk.final_score for chunk in chunks},
        intents=list(Intent),
        fewest=FEWEST,
        **sent,
    )
