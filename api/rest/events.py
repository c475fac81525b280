"""Server-sent events: changes of runs, and an answer while it is written.

An event carries the present state of a run, so that a client may miss events. Between events a stream holds no
connection to the database.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import APIRouter
from sse_starlette import EventSourceResponse, ServerSentEvent

from api.context import ApiContext, Context
from api.event_streams import POLL_SECONDS, STREAM, CountedStream, event
from api.parameters import PathId
from store.questions import queries
from store.runs import answer_pieces, runs
from store.runs.answer_pieces import AnswerSoFar
from store.runs.failures import last_failures
from store.views import RunState

router = APIRouter(tags=["events"])

#: Shortest time between two events of a run, and of all runs.
RUN_SECONDS: Final = 0.25

RUNS_SECONDS: Final = 1.0

#: Reading the state of a large run takes long: the next read waits this many times as long as the last one took.
PAUSE_FACTOR: Final = 4.0


@router.get("/runs/{run_id}/events", response_class=EventSourceResponse, responses=STREAM)
async def watch_run(run_id: PathId, ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever a job of the run changes, at most four times a second; event `idle` when no
    job is unfinished. The stream stays open, and continues after a retry."""
    await ctx.database.once(runs.require, run_id)
    return CountedStream(ctx.streams, _changes_of(ctx, run_id))


@router.get("/events", response_class=EventSourceResponse, responses=STREAM)
async def watch_runs(ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever runs change, at most once a second."""
    return CountedStream(ctx.streams, _changed_runs(ctx))


async def _changes_of(ctx: ApiContext, run_id: int) -> AsyncIterator[ServerSentEvent]:
    sent: RunState | None = None
    async with ctx.changes.subscribe(run_id=run_id) as subscription:
        is_changed = False
        clock = asyncio.get_running_loop().time
        began = clock()
        while (state := await ctx.streams.state(run_id)) is not None:
            took_s = clock() - began
            untimed = state.model_copy(update={"seconds_left": None})
            if is_changed or sent != untimed:
                yield event("changed", state.model_dump(mode="json"))
                if state.is_idle and (sent is None or not sent.is_idle):
                    yield event("idle", state.model_dump(mode="json"))
                sent = untimed
                await asyncio.sleep(max(RUN_SECONDS, PAUSE_FACTOR * took_s))
            is_changed = await subscription.next(POLL_SECONDS)
            began = clock()


async def _changed_runs(ctx: ApiContext) -> AsyncIterator[ServerSentEvent]:
    async with ctx.changes.subscribe() as subscription:
        is_changed = True
        while True:
            if is_changed:
                yield event("changed", {})
            await asyncio.sleep(RUNS_SECONDS)
            is_changed = await subscription.next(POLL_SECONDS)


#: Shortest time between two reads of a stream.
TEXT_SECONDS: Final = 0.2


@router.get("/rag/queries/{query_id}/augment/stream", response_class=EventSourceResponse, responses=STREAM)
async def watch_answer(query_id: PathId, ctx: Context) -> EventSourceResponse:
    """Event `started` with the number of the attempt, `text` with each piece that it adds, at most five a second, and
    at the end `answer` with the number of the stored answer, `failed`, or `idle`.

    The stored answer counts, not the pieces. `started` or `waiting` after pieces means that these are void: so does a
    client that connects again read the answer from its beginning.
    """
    await ctx.database.once(queries.get, query_id)
    return CountedStream(ctx.streams, _answer(ctx, query_id))


async def _answer(ctx: ApiContext, query_id: int) -> AsyncIterator[ServerSentEvent]:
    async def read(attempt_id: int = 0, pieces: int = 0) -> AnswerSoFar | None:
        return await ctx.database.ask(answer_pieces.read, query_id, attempt_id, pieces)

    read_id = read_pieces = 0
    found = await read()
    while found is not None:
        # A question moves to another job with another preset.
        job_id, is_waiting = found.job_id, False
        async with ctx.changes.subscribe(job_id=job_id, with_answers=True) as subscription:
            while (found := await read(read_id, read_pieces)) is not None and found.job_id == job_id:
                if found.is_written and found.attempt_id is not None:
                    is_waiting = False
                    if found.attempt_id != read_id:
                        read_id, read_pieces = found.attempt_id, 0
                        yield event("started", {"query_id": query_id, "attempt": found.attempt})
                    if found.text and found.last is not None:
                        read_pieces = found.last
                        yield event("text", {"text": found.text})
                elif not found.is_awaited:
                    yield await _end(ctx, query_id, found)
                    return
                elif not is_waiting:
                    read_id, is_waiting = 0, True
                    yield event("waiting", {"query_id": query_id, "status": found.job_status})
                await asyncio.sleep(TEXT_SECONDS)
                await subscription.next(POLL_SECONDS)


async def _end(ctx: ApiContext, query_id: int, found: AnswerSoFar) -> ServerSentEvent:
    """The last event: the stored answer, the failure of the job, or that nothing is being written."""
    told: dict[str, Any] = {"query_id": query_id, "job_id": found.job_id}
    if found.result_id is not None:
        address = f"/rag/queries/{query_id}/results/{found.result_id}"
        return event("answer", told | {"result_id": found.result_id, "location": address})
    error = (await ctx.database.once(last_failures, job_ids=[found.job_id])).get(found.job_id)
    if error is None:
        return event("idle", told | {"status": found.job_status})
    return event("failed", told | {"stage": error.stage, "error_type": error.type, "message": error.message})
