"""`/rag/{id}/inspect`: every stored output of a question, and forms to edit expansion and context."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple, Self, TypeVar

from fastapi import APIRouter, Depends, Form, Request
from pydantic import BaseModel, Field, model_validator
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed
from api.pages.next_steps import can_run_all, next_step
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.errors import QueryMissingError, QueryValueError, Refused, StageRunningError
from schemas.values.queries import ContextGroup, Intent, RerankedChunks
from services.questions.edits import UNCHANGED, QueryEdit, Unchanged, edit
from services.questions.lookup import get_query
from store.corpora import works
from store.questions.query_view import QueryView, existing_view
from store.runs import attempts, job_progress
from store.runs.job_progress import JobProgress

Value = TypeVar("Value")

#: An edit has to keep this many passages, or all where there are fewer.
FEWEST: Final = 3

NOTICES: Final = {
    "expansion": "The expansion is saved. What was computed from the old one is discarded (kept in history).",
    "context": "The passages are saved; prompts have them in this order.",
    "same": "Nothing was changed.",
}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ExpansionForm(BaseModel):
    """An expansion as it was filled in: phrases and entities one per line."""

    intent: str = ""
    hyde_answer: Typed = ""
    queries: Typed = ""
    entities: Typed = ""


class ContextForm(BaseModel):
    """The order of passages. The lists identify passages by their places in the stored context, from 1."""

    of: str
    """The hash of the context that the form was rendered from."""
    group: list[int]
    """All passages, in the order of the form."""
    at: list[int]
    """The new place of each."""
    drop: list[int] = []
    move: Annotated[str, Field(pattern=r"^$|^(up|down) [1-9][0-9]{0,8}$")] = ""
    """`up 3` or `down 3` for these buttons, which do not save; empty to save."""

    @model_validator(mode="after")
    def _every_passage_has_a_place(self) -> Self:
        if len(self.at) != len(self.group):
            raise ValueError("every passage needs a place")
        return self

    @property
    def order(self) -> list[int]:
        """The passages by their new places; equal places keep the order of the form."""
        return [group for _, group in sorted(zip(self.at, self.group, strict=True), key=lambda placed: placed[0])]

    def moved(self) -> list[int]:
        """The order after the button."""
        order = self.order
        direction, _, name = self.move.partition(" ")
        if int(name) not in order:
            return order
        place = order.index(int(name))
        other = place - 1 if direction == "up" else place + 1
        if 0 <= other < len(order):
            order[place], order[other] = order[other], order[place]
        return order


class ShownPassage(NamedTuple):
    """A passage of the context, as the form shows it."""

    place: int
    """In the stored context, from 1."""
    group: ContextGroup
    title: str
    scores: dict[int, float]
    """The final scores of its chunks, by chunk id, where the ranking is stored."""
    leaves: bool


class InspectContent(NamedTuple):
    """The content of the page."""

    view: QueryView
    progress: JobProgress
    reranked: RerankedChunks | None
    context_hash: str
    titles: Mapping[int, str]


@router.get("/rag/{query_id:int}/inspect")
async def inspect_page(request: Request, ctx: Context, query_id: PathId, notice: str = "") -> Response:
    """The expansion and the context with their forms; the chunks with scores and verdicts."""
    return _page(request, await _read(ctx, query_id), notice=NOTICES.get(notice))


@router.post("/rag/{query_id:int}/expansion", dependencies=[Depends(csrf)])
async def edit_expansion(
    request: Request, ctx: Context, query_id: PathId, form: Annotated[ExpansionForm, Form()]
) -> Response:
    """Save the expansion. Invalid values stay in their fields, with the reason."""
    shown = await _read(ctx, query_id)
    changes = _changes(form, _stored_form(shown.view))
    if changes == QueryEdit():
        return RedirectResponse(f"/rag/{query_id}/inspect?notice=same", 303)
    try:
        async with ctx.database.connection() as connection:
            await edit(connection, await get_query(connection, query_id), changes, run=False)
    except QueryValueError as error:
        return _page(request, shown, filled=form, wrong={error.field.partition(",")[0]: f"This {error.problem}."})
    except StageRunningError as error:
        return _page(request, shown, filled=form, wrong={"expansion": str(error)})
    return RedirectResponse(f"/rag/{query_id}/inspect?notice=expansion", 303)


@router.post("/rag/{query_id:int}/context", dependencies=[Depends(csrf)])
async def edit_context(
    request: Request, ctx: Context, query_id: PathId, form: Annotated[ContextForm, Form()]
) -> Response:
    """Move a passage in the form; or save the order, and which passages are kept."""
    shown = await _read(ctx, query_id)
    groups = shown.view.consolidated.groups if shown.view.consolidated is not None else ()
    if form.of != shown.context_hash or sorted(form.group) != list(range(1, len(groups) + 1)):
        changed = "The passages changed meanwhile; these are the new ones. Order them again."
        return _page(request, shown, wrong={"context": changed})
    if form.move:
        return _page(request, shown, order=form.moved(), leaving=form.drop, status=200)
    kept = [place for place in form.order if place not in form.drop]
    try:
        if len(kept) < min(FEWEST, len(groups)):
            raise QueryValueError("context", f"has to keep at least {min(FEWEST, len(groups))} passages")
        async with ctx.database.connection() as connection:
            await edit(connection, await get_query(connection, query_id), QueryEdit(context=kept), run=False)
    except QueryMissingError:
        raise
    except Refused as error:
        return _page(request, shown, order=form.order, leaving=form.drop, wrong={"context": f"{error}"})
    notice = "same" if kept == sorted(form.group) else "context"
    return RedirectResponse(f"/rag/{query_id}/inspect?notice={notice}#context", 303)


async def _read(ctx: ApiContext, query_id: int) -> InspectContent:
    """Everything in one snapshot."""
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        view = await existing_view(connection, query_id)
        job_id = view.line.job_id
        progress = await job_progress.progress(connection, [job_id])
        reranked = await attempts.output(connection, job_id, "rerank")
        context = await attempts.output(connection, job_id, "consolidate")
        chunks = None if reranked is None else RerankedChunks.model_validate(reranked.value)
        involved = {chunk.work_id for chunk in chunks.chunks} if chunks is not None else set()
        if view.consolidated is not None:
            involved |= {group.work_id for group in view.consolidated.groups}
        return InspectContent(
            view=view,
            progress=progress[job_id],
            reranked=chunks,
            context_hash="" if context is None else context.hash,
            titles=await works.titles(connection, sorted(involved)),
        )


def _page(
    request: Request,
    shown: InspectContent,
    *,
    filled: ExpansionForm | None = None,
    order: Sequence[int] | None = None,
    leaving: Sequence[int] = (),
    wrong: Mapping[str, str] | None = None,
    notice: str | None = None,
    status: int | None = None,
) -> Response:
    view = shown.view
    return page(
        request,
        "inspect.html.j2",
        status=status or (422 if wrong else 200),
        line=view.line,
        **shown._asdict(),
        next=next_step(view.line, shown.progress),
        can_run_all=can_run_all(view.line),
        filled=filled or _stored_form(view),
        passages=_passages(shown, order, leaving),
        is_moved=order is not None,
        verdicts={} if view.retrieved is None else {of.chunk_id: of.decision for of in view.retrieved.verdicts},
        intents=list(Intent),
        fewest=FEWEST,
        wrong=wrong or {},
        notice=notice,
    )


def _passages(shown: InspectContent, order: Sequence[int] | None, leaving: Sequence[int]) -> list[ShownPassage]:
    if shown.view.consolidated is None:
        return []
    groups = shown.view.consolidated.groups
    chunks = () if shown.reranked is None else shown.reranked.chunks
    scores = {chunk.chunk_id: chunk.final_score for chunk in chunks}
    return [
        ShownPassage(
            place=place,
            group=(group := groups[place - 1]),
            title=shown.titles.get(group.work_id, f"work {group.work_id}"),
            scores={chunk_id: scores[chunk_id] for chunk_id in group.chunk_ids if chunk_id in scores},
            leaves=place in leaving,
        )
        for place in (order or range(1, len(groups) + 1))
    ]


def _stored_form(view: QueryView) -> ExpansionForm:
    """The stored expansion as the form shows it."""
    stored = view.expansion
    if stored is None:
        return ExpansionForm()
    return ExpansionForm(
        intent=stored.intent or "",
        hyde_answer=stored.hyde_answer,
        queries="\n".join(_one_line(phrase) for phrase in stored.queries),
        entities="\n".join(_one_line(entity) for entity in stored.entities),
    )


def _changes(form: ExpansionForm, before: ExpansionForm) -> QueryEdit:
    """What was changed in the form. Showing a phrase in one line does not change it."""
    return QueryEdit(
        intent=_changed(form.intent, before.intent),
        hyde_answer=_changed(form.hyde_answer.strip(), before.hyde_answer.strip()),
        expanded_queries=_changed(_lines(form.queries), _lines(before.queries)),
        entities=_changed(_lines(form.entities), _lines(before.entities)),
    )


def _changed(new: Value, old: Value) -> Value | Unchanged:
    return UNCHANGED if new == old else new


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _one_line(text: str) -> str:
    return " ".join(text.split())
