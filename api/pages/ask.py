"""`/rag/new`: a new question, expanded by a model, by a pasted reply, or not at all."""

from collections.abc import Mapping, Sequence
from secrets import token_urlsafe
from typing import Annotated, Any, Final, Literal, Self

from fastapi import Form, Query, Request
from pydantic import BaseModel, ValidationError, model_validator
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, form_key, page_router
from api.pages.questions import shown_question
from api.parameters import PathId
from api.rendering import page
from api.security.authentication import CurrentPrincipal
from schemas.errors import LLMResponseParseError, MissingError, QueryValueError, Refused, StageRunningError
from schemas.values.base import Text, first_problem
from schemas.values.queries import Intent
from schemas.values.requests import QueryEdit, QueryRequest
from services.questions.edits import ask, edit, preview_expansion_prompt
from services.questions.submission import with_chosen_models
from stages.corpora.works import work_filter
from stages.queries.expand import no_expansion, pasted_expansion
from stages.queries.query_files import MAX_CHARS, single_query
from store.corpora import corpora, works
from store.questions import presets, queries
from store.questions.query_runs import QueryView, query_view
from store.runs import attempts

router = page_router()


class AskForm(BaseModel):
    """The form as it was filled in."""

    question: Typed = ""
    corpus: list[Text] = []
    """Several are searched as if they were one."""
    author: Typed = ""
    title: Typed = ""
    tag: Typed = ""
    year_from: Text = ""
    year_to: Text = ""
    preset: Text = ""
    """Empty for the default preset."""
    expansion: Literal["model", "paste", "none"] = "model"
    reply: Typed = ""
    until: Literal["answer", "expansion"] = "answer"
    model: Literal["full", "light"] = "full"
    click: Literal["ask", "prompt"] = "ask"
    """Which button sent the form."""
    once: str = ""
    """Generated with the form, so that sending the same form twice asks once."""

    @property
    def conditions(self) -> list[str]:
        """The conditions on works that were filled in, as they are typed on a command line."""
        signs = {"author": "=", "title": "=", "tag": "=", "year_from": ">=", "year_to": "<="}
        written = {name: getattr(self, name).strip() for name in signs}
        return [f"{name.partition('_')[0]}{signs[name]}{text}" for name, text in written.items() if text]

    def request(self) -> QueryRequest:
        """The request to submit. Raises QueryValueError, and Refused for a condition that cannot be read."""
        return QueryRequest(
            queries=single_query(self.question),
            corpora=[name for name in self.corpus if name],
            works=work_filter(self.conditions),
            config_preset=self.preset or None,
            expand=self.expansion != "none",
            expansion_reply=self.reply if self.expansion == "paste" else None,
            use_full_model=self.model != "light",
            until="expand" if self.until == "expansion" else None,
        )


@router.get("/rag/new")
async def new_page(
    request: Request, ctx: Context, q: Annotated[str, Query()] = "", corpus: str = "", preset: str = ""
) -> Response:
    """The empty form; `q` fills in the question. It has the corpora of the newest question chosen."""
    newest = await ctx.database.once(queries.lines, limit=1)
    chosen = [corpus] if corpus else [name for line in newest for name in line.corpora]
    return await _form(request, ctx, AskForm(question=q, corpus=chosen, preset=preset, once=token_urlsafe(16)))


@router.post("/rag/new")
async def new(
    request: Request, ctx: Context, principal: CurrentPrincipal, form: Annotated[AskForm, Form()]
) -> Response:
    """Ask; or show the prompt for an external model. Invalid values are reported beside their fields."""
    if form.click == "prompt":
        return await _form(request, ctx, form)
    try:
        if form.expansion == "paste":
            pasted_expansion(form.reply)
        key = form_key(principal, form.once, f"question {form.model_dump_json()}")
        asked, _ = await ctx.database.once(ask, form.request(), ctx.run_settings(), key=key)
    except QueryValueError as error:
        return await _form(request, ctx, form, wrong={"question": f"The question {error.problem}."})
    except LLMResponseParseError as error:
        return await _form(request, ctx, form, wrong={"reply": str(error)})
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
    return RedirectResponse(f"/rag/{asked.id}", 303)


async def _form(request: Request, ctx: ApiContext, form: AskForm, *, wrong: Mapping[str, str] = {}) -> Response:
    prompt = None
    async with ctx.database.connection() as connection:
        found = await corpora.all_corpora(connection)
        stored = await presets.list_all(connection)
        if form.expansion == "paste":
            try:
                prompt, _ = await preview_expansion_prompt(connection, form.question, preset=form.preset or None)
            except QueryValueError as error:
                wrong = {"question": f"The question {error.problem}.", **wrong}
            except Refused as error:
                wrong = {"form": str(error), **wrong}
        run = (await with_chosen_models(connection, ctx.run_settings())).run
    choice = {"full": f"{run.query_model} (full model)", "light": f"{run.query_light_model} (light model)"}
    return page(
        request,
        "ask.html.j2",
        form=form,
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


class ContextForm(BaseModel):
    """The order of passages. The lists identify passages by their places in the stored context, from 1."""

    of: str
    """The hash of the context that the form was rendered from."""
    group: list[int]
    """All passages, in the order of the form."""
    at: list[int]
    """The new place of each."""
    drop: list[int] = []

    @model_validator(mode="after")
    def _every_passage_has_a_place(self) -> Self:
        if len(self.at) != len(self.group):
            raise ValueError("every passage needs a place")
        return self

    @property
    def order(self) -> list[int]:
        """The passages by their new places: one that was moved up comes before the one that has the place."""
        moved = [(at, (at > place) - (at < place)) for place, at in enumerate(self.at, start=1)]
        return [group for _, group in sorted(zip(moved, self.group, strict=True))]


Shown = tuple[QueryView, str, Mapping[int, str]]
"""A question, the hash of its context, and the titles of the works that are involved."""


@router.get("/rag/{query_id:int}/inspect")
async def inspect_page(request: Request, ctx: Context, query_id: PathId) -> Response:
    """The expansion and the context with their forms; the chunks with scores and verdicts."""
    return _page(request, await _read(ctx, query_id))


@router.post("/rag/{query_id:int}/expansion")
async def edit_expansion(
    request: Request,
    ctx: Context,
    query_id: PathId,
    intent: Annotated[str, Form()] = "",
    hyde_answer: Annotated[Typed, Form()] = "",
    phrases: Annotated[Typed, Form(alias="queries")] = "",
    entities: Annotated[Typed, Form()] = "",
) -> Response:
    """Save the expansion. Invalid values stay in their fields, with the reason."""
    lists = {"expanded_queries": _lines(phrases), "entities": _lines(entities)}
    filled = {"intent": intent, "hyde_answer": hyde_answer, **lists}
    try:
        is_changed = await ctx.database.once(edit, query_id, QueryEdit(**filled), run=False)
    except ValidationError as error:
        problem = first_problem(error)
        wrong = {problem.field or "expansion": problem.words}
        return _page(request, await _read(ctx, query_id), filled=filled, wrong=wrong)
    except StageRunningError as error:
        return _page(request, await _read(ctx, query_id), filled=filled, wrong={"expansion": str(error)})
    return RedirectResponse(f"/rag/{query_id}/inspect?notice={'expansion' if is_changed else 'same'}", 303)


@router.post("/rag/{query_id:int}/context")
async def edit_context(
    request: Request, ctx: Context, query_id: PathId, form: Annotated[ContextForm, Form()]
) -> Response:
    """Save the order, and which passages are kept."""
    shown = view, context_hash, _ = await _read(ctx, query_id)
    groups = view.consolidated.groups if view.consolidated is not None else ()
    if form.of != context_hash or sorted(form.group) != list(range(1, len(groups) + 1)):
        changed = "The passages changed meanwhile; these are the new ones. Order them again."
        return _page(request, shown, wrong={"context": changed})
    kept = [place for place in form.order if place not in form.drop]
    try:
        if len(kept) < min(FEWEST, len(groups)):
            raise QueryValueError("context", f"has to keep at least {min(FEWEST, len(groups))} passages")
        is_changed = await ctx.database.once(edit, query_id, context=kept, run=False)
    except MissingError:
        raise
    except Refused as error:
        return _page(request, shown, order=form.order, leaving=form.drop, wrong={"context": f"{error}"})
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


def _page(request: Request, shown: Shown, *, order: Sequence[int] | None = None, **filled: Any) -> Response:
    view, context_hash, titles = shown
    groups = () if view.consolidated is None else view.consolidated.groups
    chunks = () if view.reranked is None else view.reranked.chunks
    stored = view.expansion or no_expansion()
    parts = stored.model_dump(include={"intent", "hyde_answer", "entities"}) | {"expanded_queries": stored.queries}
    filled = {"filled": parts, "leaving": ()} | filled
    return page(
        request,
        "inspect.html.j2",
        notices=NOTICES,
        **shown_question(view),
        context_hash=context_hash,
        titles=titles,
        passages=[(place, groups[place - 1]) for place in order or range(1, len(groups) + 1)],
        scores={chunk.chunk_id: chunk.final_score for chunk in chunks},
        intents=list(Intent),
        fewest=FEWEST,
        **filled,
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
