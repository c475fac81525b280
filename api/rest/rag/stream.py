"""The answer to a question while a model writes it, as server-sent events."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header
from sse_starlette import EventSourceResponse, ServerSentEvent

from api.context import ApiContext, Context
from api.event_streams import POLL_SECONDS, CountedStream, event, stream_responses
from api.parameters import MAX_ID, PathId
from services.questions.lookup import get_query
from store.database import Connection
from store.runs import answer_pieces, job_progress
from store.runs.answer_pieces import NOTHING_READ, AnswerSoFar, Position

router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"])

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


@router.get(
    "/augment/stream",
    summary="Watch an answer being written",
    response_class=EventSourceResponse,
    responses=stream_responses(
        *(WAITING, STARTED, TEXT, ANSWER, FAILED, IDLE),
        example='id: 81.4\r\nevent: text\r\ndata: {"text": "Oxygen darkens the leaf"}\r\n\r\n',
        problems=(404, 422, 503),
    ),
)
async def watch_answer(query_id: PathId, ctx: Context, last_event_id: LastEventId = None) -> EventSourceResponse:
    """Event `started` with the number of the attempt, `text` with each piece that it adds, at most five a second, and
    at the end `answer` with the number of the stored answer, `failed`, or `idle`.

    The stored answer counts, not the pieces. `started` or `waiting` after pieces means that these are void.
    """
    async with ctx.database.connection() as connection:
        await get_query(connection, query_id)
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
    async with ctx.database.connection() as connection:
        progress = await job_progress.progress(connection, [found.job_id])
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
