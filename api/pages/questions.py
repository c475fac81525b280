"""`/rag`: the questions, with their progress and next steps."""

from typing import Annotated, Final, Literal, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.next_steps import Next, can_run_all, next_step
from api.rendering import page
from schemas.statuses import QueryStatus
from store.corpora import corpora
from store.questions import query_lines
from store.questions.query_lines import QueryLine
from store.runs import job_progress
from store.runs.job_progress import JobProgress

PAGE_ROWS: Final = 25

# No resource shares these addresses, so every client gets their pages.
router = APIRouter(include_in_schema=False)


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


@router.api_route("/", methods=["GET", "HEAD"])
async def home() -> Response:
    """Redirects to the questions."""
    return RedirectResponse("/rag", 303)


@router.get("/rag")
async def list_page(
    request: Request, ctx: Context, status: Listed = "", before: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """The newest questions, or those before one."""
    statuses = (status,) if isinstance(status, QueryStatus) else _PENDING if status == "pending" else None
    async with (
        ctx.database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        lines = await query_lines.lines(connection, before=before, statuses=statuses, limit=PAGE_ROWS + 1)
        progress = await job_progress.progress(connection, [line.job_id for line in lines])
        counted = await query_lines.counts(connection)
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
