"""Questions: listed, read, changed, deleted."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Header, Query
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import JSONResponse

from api.context import ApiContext, Context
from api.event_streams import POLL_SECONDS, STREAM, CountedStream, event, wait_until_idle
from api.parameters import PathId
from api.preferences import WaitPreference
from api.rest.bodies.base import StrictRoute
from api.rest.bodies.rag_queries import (
    Passage,
    PassageChoice,
    QueryDetail,
    QueryList,
    QueryPatch,
    RetrievedChunk,
)
from api.rest.bodies.rag_steps import ResultList, Started
from schemas.errors import QueryMissingError, QueryValueError, Refused, StepFailedError
from schemas.statuses import JobStatus, QueryStatus
from schemas.values.base import MAX_ID
from schemas.values.queries import ConsolidatedContext, RerankedChunk
from schemas.values.requests import QueryEdit, QuestionsWanted
from services.questions.edits import edit, stored_context
from store.database import Connection
from store.questions import queries, query_runs
from store.questions.queries import QueryLine, StoredResult
from store.questions.query_runs import QueryView, existing_view
from store.runs import answer_pieces, jobs
from store.runs.answer_pieces import NOTHING_READ, AnswerSoFar, Position

_FIELD: Final = "clean_retrieval_context"
_NAMES: Final = ("chunk_ids", "work_id", "start_line", "end_line")


def places_of(choices: Sequence[PassageChoice], passages: Sequence[Passage]) -> list[int]:
    """The places of the chosen passages, in the order of the choices.

    A choice identifies a passage by its chunks, work and lines, or by its place. A place beside them counts only where
    several passages match them: a page that saves twice sends the places of before. Raises QueryValueError for a choice
    with none of them, for one that matches no passage or several, and for one that changes the content of a passage.
    """
    stored = [passage.model_dump(mode="json") for passage in passages]
    return [_place(number, choice, stored) for number, choice in enumerate(choices, start=1)]


def _place(number: int, choice: PassageChoice, passages: Sequence[dict[str, Any]]) -> int:
    given = choice.model_dump(exclude_none=True)
    at = given.pop("place", None)
    names = {name: given.pop(name) for name in _NAMES if name in given}
    if not names and at is None:
        raise QueryValueError(_FIELD, f"entry {number} identifies no passage; give its place, or its work and lines")
    fitting = [passage for passage in passages if all(passage[name] == value for name, value in names.items())]
    if len(fitting) > 1 and at is not None:
        fitting = [passage for passage in fitting if passage["place"] == at]
    if len(fitting) != 1:
        raise QueryValueError(
            _FIELD,
            f"entry {number} matches {len(fitting)} of {len(passages)} passages; read the question again and choose "
            "from its passages",
        )
    (passage,) = fitting
    changed = [name for name, value in given.items() if passage[name] != value]
    if changed:
        raise QueryValueError(_FIELD, f"entry {number} changes {', '.join(changed)}; the content of passages is fixed")
    place: int = passage["place"]
    return place


def line_of(line: QueryLine) -> QueryLine:
    """A question in one line: a failed embedding needs embeddings."""
    is_failed = line.status is QueryStatus.VEC_ERR
    return line.model_copy(update={"status": QueryStatus.NEEDS_EMBEDDINGS}) if is_failed else line


def detail_of(view: QueryView) -> QueryDetail:
    """A question with its current outputs."""
    expansion = view.expansion
    is_rrf = view.found is not None and view.found.fusion == "rrf"
    return QueryDetail(
        **vars(line_of(view.line)),
        expanded_queries=None if expansion is None else list(expansion.queries),
        hyde_answer=None if expansion is None else expansion.hyde_answer,
        entities=None if expansion is None else list(expansion.entities),
        retrieved_context=None if view.retrieved is None else _chunks(view.retrieved.chunks, is_rrf=is_rrf),
        clean_retrieval_context=None if view.consolidated is None else passages(view.consolidated),
        available_context_count=view.available,
        error=view.error,
        nearest=_chunks(view.nearest, is_rrf=is_rrf),
    )


def passages(context: ConsolidatedContext) -> list[Passage]:
    """The passages of a context in their order."""
    return [Passage(place=place, **group.model_dump()) for place, group in enumerate(context.groups, start=1)]


def _chunks(chunks: Sequence[RerankedChunk], *, is_rrf: bool) -> list[RetrievedChunk]:
    return [RetrievedChunk(**vars(chunk), rrf_score=chunk.fused_score if is_rrf else None) for chunk in chunks]


router = APIRouter(prefix="/rag/queries", tags=["questions"], route_class=StrictRoute)

Run = Annotated[
    bool,
    Query(
        description="Run the stages that the change made stale, up to the stage that the chain ends with, instead of "
        "ending the chain with what was changed.",
        examples=[True],
    ),
]


@router.get("")
async def list_queries(ctx: Context, wanted: Annotated[QuestionsWanted, Query()]) -> QueryList:
    """Questions, newest first, each with its progress and what it needs next."""
    async with ctx.database.connection() as connection:
        statuses = queries.in_need(wanted.status)
        counts = await queries.counts(connection)
        total = sum(count for status, count in counts.items() if status in statuses)
        lines = await queries.lines(connection, statuses=statuses, limit=wanted.limit, before=wanted.before)
    return QueryList(queries=[line_of(line) for line in lines], total=total)


@router.get("/{query_id}")
async def read_query(query_id: PathId, ctx: Context) -> QueryDetail:
    """A question with its expansion, its retrieved chunks and passages, and its last error."""
    return await ctx.database.once(_detail, query_id)


@router.patch("/{query_id}")
async def change_query(query_id: PathId, ctx: Context, body: QueryPatch, run: Run = False) -> QueryDetail:
    """Change the question, its expansion, or the selection and order of passages.

    Outputs of the old values are discarded (kept in history). With `run=true` they are computed again; otherwise
    nothing runs, and `status` is what the question needs next. The prompt has the passages in this order. One request
    cannot change passages together with the question or its expansion, because they were retrieved by those.
    """
    async with ctx.database.connection() as connection, connection.transaction():
        query = await queries.hold(connection, query_id)
        changes = body.model_dump(exclude_unset=True, exclude={"clean_retrieval_context"})
        if choices := body.clean_retrieval_context:
            changes["context"] = places_of(choices, passages(await stored_context(connection, query)))
        await edit(connection, query, QueryEdit(**changes), run=run)
    return await ctx.database.once(_detail, query_id)


@router.delete("/{query_id}", status_code=204)
async def delete_query(query_id: PathId, ctx: Context) -> None:
    """Delete a question with everything that was computed for it, its answers, and every text of them.

    Refused while a stage of it is running. A run without other questions is deleted with it.
    """
    async with ctx.database.connection() as connection:
        await query_runs.delete_query(connection, await queries.get(connection, query_id))


async def _detail(connection: Connection, query_id: int) -> QueryDetail:
    return detail_of(await existing_view(connection, query_id))


results_router = APIRouter(prefix="/rag/queries/{query_id}/results", tags=["questions"], route_class=StrictRoute)


@results_router.get("")
async def list_results(query_id: PathId, ctx: Context) -> ResultList:
    """Every answer, newest first, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        stored = await queries.results(connection, query_id)
    return ResultList(query_id=query_id, results=stored, total=len(stored))


@results_router.get("/{result_id}")
async def read_result(query_id: PathId, result_id: PathId, ctx: Context) -> StoredResult:
    """One answer, with the sources of its labels."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, query_id)
        return await queries.result(connection, query_id, result_id)


@results_router.delete("/{result_id}", status_code=204)
async def delete_result(query_id: PathId, result_id: PathId, ctx: Context) -> None:
    """Delete one answer. The attempt that made it is kept in the history of its job."""
    async with ctx.database.connection() as connection:
        await query_runs.delete_result(connection, await queries.get(connection, query_id), result_id)


stream_router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"])

#: Shortest time between two reads of a stream.
TEXT_SECONDS: Final = 0.2
MAX_PIECES: Final = 2**31 - 1

WAITING: Final = "waiting"
STARTED: Final = "started"
TEXT: Final = "text"
ANSWER: Final = "answer"
FAILED: Final = "failed"
IDLE: Final = "idle"

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="The id of the last event that arrived; the stream continues after it.",
        examples=["81.4"],
    ),
]


@stream_router.get("/augment/stream", response_class=EventSourceResponse, responses=STREAM)
async def watch_answer(query_id: PathId, ctx: Context, last_event_id: LastEventId = None) -> EventSourceResponse:
    """Event `started` with the number of the attempt, `text` with each piece that it adds, at most five a second, and
    at the end `answer` with the number of the stored answer, `failed`, or `idle`.

    The stored answer counts, not the pieces. `started` or `waiting` after pieces means that these are void.
    """
    await ctx.database.once(queries.get, query_id)
    return CountedStream(ctx.streams, _answer(ctx, query_id, _position(last_event_id)))


async def _answer(ctx: ApiContext, query_id: int, seen: Position) -> AsyncIterator[ServerSentEvent]:
    found = await _read(ctx, query_id, seen)
    while found is not None:
        # A question moves to another job with another preset.
        job_id, is_waiting = found.job_id, False
        async with ctx.changes.subscribe(job_id=job_id, with_answers=True) as subscription:
            while (found := await _read(ctx, query_id, seen)) is not None and found.job_id == job_id:
                if found.is_written and found.attempt_id is not None:
                    is_waiting = False
                    if found.attempt_id != seen.attempt_id:
                        seen = Position(found.attempt_id, 0)
                        yield event(STARTED, {"query_id": query_id, "attempt": found.attempt}, id=_id(seen))
                    if found.text and found.last is not None:
                        seen = Position(found.attempt_id, found.last)
                        yield event(TEXT, {"text": found.text}, id=_id(seen))
                elif not found.is_awaited:
                    yield await _end(ctx, query_id, found)
                    return
                elif not is_waiting:
                    seen, is_waiting = NOTHING_READ, True
                    yield event(WAITING, {"query_id": query_id, "status": found.job_status}, id=_id(seen))
                await asyncio.sleep(TEXT_SECONDS)
                await subscription.next(POLL_SECONDS)


async def _read(ctx: ApiContext, query_id: int, after: Position) -> AnswerSoFar | None:
    async def read(connection: Connection) -> AnswerSoFar | None:
        return await answer_pieces.read(connection, query_id, after)

    return await ctx.database.with_retry(read)


async def _end(ctx: ApiContext, query_id: int, found: AnswerSoFar) -> ServerSentEvent:
    """The last event: the stored answer, the failure of the job, or that nothing is being written."""
    told: dict[str, Any] = {"query_id": query_id, "job_id": found.job_id}
    if found.result_id is not None:
        address = f"/rag/queries/{query_id}/results/{found.result_id}"
        return event(ANSWER, told | {"result_id": found.result_id, "location": address})
    progress = await ctx.database.once(jobs.progress, [found.job_id])
    error = progress[found.job_id].error if found.job_id in progress else None
    if error is None:
        return event(IDLE, told | {"status": found.job_status})
    return event(FAILED, told | {"stage": error.stage, "error_type": error.type, "message": error.message})


def _id(position: Position) -> str:
    return f"{position.attempt_id}.{position.piece}"


def _position(event_id: str | None) -> Position:
    """The position after an event; the beginning for an id that is none of this stream's."""
    named = re.fullmatch(r"([0-9]{1,19})\.([0-9]{1,10})", event_id or "")
    if named is None:
        return NOTHING_READ
    position = Position(*map(int, named.groups()))
    return position if position.attempt_id <= MAX_ID and position.piece <= MAX_PIECES else NOTHING_READ


class Awaited(NamedTuple):
    """A question and the job that a request waits for."""

    query_id: int
    run_id: int
    job_id: int


async def pending_response(
    ctx: ApiContext, asked: Awaited, wait: WaitPreference, *, headers: dict[str, str] | None = None
) -> JSONResponse | None:
    """Wait for a job. None when it is done; else a 202 with the address of the job, for a client that prefers one.

    Raises StepFailedError when a stage of it failed, QueryMissingError when it was deleted, and Refused when it was
    cancelled, and when it is paused and the client has no preference.
    """
    status = await _status(ctx, asked.job_id, wait)
    match status:
        case JobStatus.SUCCEEDED:
            return None
        case JobStatus.FAILED | JobStatus.POISONED:
            raise await _failure(ctx, asked)
        case JobStatus.CANCELLED:
            raise superseded(asked.query_id)
        case None:
            raise QueryMissingError(asked.query_id)
        case JobStatus.PAUSED if wait.seconds is None:
            raise Refused(
                f"Job j{asked.job_id} of query {asked.query_id} is paused; `ragq resume j{asked.job_id}`, or POST "
                f"/jobs/{asked.job_id}/resume, continues the step.",
                slug="step-paused",
            )
    where = f"/jobs/{asked.job_id}"
    is_paused = status is JobStatus.PAUSED
    started = Started(
        **asked._asdict(),
        status=status,
        message=f"Paused; POST {where}/resume continues it." if is_paused else f"Running; {where} shows its progress.",
    )
    all_headers = {"Location": where} | wait.headers | (headers or {})
    return JSONResponse(started.model_dump(mode="json"), status_code=202, headers=all_headers)


def superseded(query_id: int) -> Refused:
    """A question was changed, or its job cancelled, by another request while a step of it was waited for."""
    return Refused(
        f"Query {query_id} was changed or cancelled by another request meanwhile; "
        f"`ragq query show {query_id}` shows its present state.",
        slug="step-superseded",
    )


async def _status(ctx: ApiContext, job_id: int, wait: WaitPreference) -> JobStatus | None:
    if wait.seconds != 0:
        return await wait_until_idle(ctx.database, ctx.changes, job_id, timeout_s=wait.seconds, has_left=wait.has_left)
    job = await ctx.database.once(jobs.job, job_id)
    return None if job is None else job.status


async def _failure(ctx: ApiContext, asked: Awaited) -> StepFailedError | Refused:
    error = (await ctx.database.once(jobs.progress, [asked.job_id]))[asked.job_id].error
    if error is None:
        # It was retried since.
        return superseded(asked.query_id)
    return StepFailedError(asked.query_id, asked.job_id, error.stage, error.type, error.message)


#: The reply of a step to a client that sent `Prefer`, for its OpenAPI description.
ACCEPTED: Final[dict[int | str, dict[str, Any]]] = {202: {"model": Started}}
