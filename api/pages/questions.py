"""`/rag`: the questions, how far each is, and what it needs next."""

from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.next_steps import Next, can_run_all, next_step
from api.rendering import page
from api.routes import PageRoute
from store.corpora import corpora
from store.questions import queries
from store.questions.queries import QueryLine
from store.runs import job_progress
from store.runs.job_progress import JobProgress

PAGE_ROWS: Final = 25

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Shown(StrEnum):
    """Which questions a list shows."""

    ALL = ""
    READY = "ready"
    PENDING = "pending"
    NEEDS_EMBEDDINGS = "needs_embeddings"
    NEEDS_RETRIEVAL = "needs_retrieval"
    NEEDS_CONSOLIDATION = "needs_consolidation"
    VEC_ERR = "vec_err"


_PENDING: Final = (Shown.NEEDS_EMBEDDINGS, Shown.NEEDS_RETRIEVAL, Shown.NEEDS_CONSOLIDATION, Shown.VEC_ERR)
_LABELS: Final = {
    Shown.ALL: "All",
    Shown.READY: "Ready",
    Shown.PENDING: "Pending",
    Shown.NEEDS_EMBEDDINGS: "Need embeddings",
    Shown.NEEDS_RETRIEVAL: "Need retrieval",
    Shown.NEEDS_CONSOLIDATION: "Need consolidation",
    Shown.VEC_ERR: "Embedding failed",
}


class Row(NamedTuple):
    """A question of the list."""

    line: QueryLine
    progress: JobProgress
    next: Next | None
    can_run_all: bool


class Filter(NamedTuple):
    """A link that shows some of the questions, and how many they are."""

    shown: Shown
    label: str
    number: int


@router.get("/")
async def home() -> Response:
    """The questions are the first page."""
    return RedirectResponse("/rag", 303)


@router.get("/rag")
async def list_page(
    request: Request, ctx: Context, status: Shown = Shown.ALL, before: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """The newest questions, or those that come after one in that order."""
    statuses = {Shown.ALL: None, Shown.PENDING: _PENDING}.get(status, (status,))
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        lines = await queries.lines(connection, before=before, statuses=statuses, limit=PAGE_ROWS + 1)
        progress = await job_progress.progress(connection, [line.job_id for line in lines])
        counted = await queries.counts(connection)
        searchable = sum(corpus.searchable_chunks for corpus in await corpora.all_corpora(connection))
    rows = [
        Row(line, progress[line.job_id], next_step(line, progress[line.job_id]), can_run_all(line))
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


def _filters(counted: dict[str, int], current: Shown) -> list[Filter]:
    """The three that every list has, and each thing that some question needs."""
    numbers = {
        Shown.ALL: sum(counted.values()),
        Shown.READY: counted.get(Shown.READY, 0),
        Shown.PENDING: sum(counted.get(status, 0) for status in _PENDING),
    }
    rare = {status: counted.get(status, 0) for status in _PENDING if status in counted or status is current}
    return [Filter(shown, _LABELS[shown], number) for shown, number in (numbers | rare).items()]
