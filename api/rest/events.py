"""Server-sent events: changes of runs, as they happen.

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
from schemas.errors import RunMissingError
from store.runs import runs
from store.views import RunState

router = APIRouter(tags=["events"])

#: Shortest time between two events of a run, and of all runs.
RUN_SECONDS: Final = 0.25
RUNS_SECONDS: Final = 1.0
#: Reading the state of a large run takes long: the next read waits this many times as long as the last one took.
PAUSE_FACTOR: Final = 4.0

CHANGED: Final = "changed"
IDLE: Final = "idle"


@router.get("/runs/{run_id}/events", response_class=EventSourceResponse, responses=STREAM)
async def watch_run(run_id: PathId, ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever a job of the run changes, at most four times a second; event `idle` when no
    job is unfinished. The stream stays open, and continues after a retry."""
    async with ctx.database.connection() as connection:
        if not await runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
    return CountedStream(ctx.streams, _changes_of(ctx, run_id))


@router.get("/events", response_class=EventSourceResponse, responses=STREAM)
async def watch_runs(ctx: Context) -> EventSourceResponse:
    """Event `changed` at once and whenever runs change, at most once a second, with the numbers of those runs.
    With `may_be_more`, others may have changed too."""
    return CountedStream(ctx.streams, _changed_runs(ctx))


async def _changes_of(ctx: ApiContext, run_id: int) -> AsyncIterator[ServerSentEvent]:
    sent: RunState | None = None
    async with ctx.changes.subscribe(run_id=run_id) as subscription:
        change = None
        clock = asyncio.get_running_loop().time
        began = clock()
        while (state := await ctx.streams.state(run_id)) is not None:
            took_s = clock() - began
            if change is not None or not _is_same(sent, state):
                yield event(CHANGED, _summary(state))
                if state.is_idle and (sent is None or not sent.is_idle):
                    yield event(IDLE, _summary(state))
                sent = state
                await asyncio.sleep(max(RUN_SECONDS, PAUSE_FACTOR * took_s))
            change = await subscription.next(POLL_SECONDS)
            began = clock()


async def _changed_runs(ctx: ApiContext) -> AsyncIterator[ServerSentEvent]:
    async with ctx.changes.subscribe() as subscription:
        yield event(CHANGED, {"runs": [], "may_be_more": False})
        while True:
            await asyncio.sleep(RUNS_SECONDS)
            if (change := await subscription.next(POLL_SECONDS)) is not None:
                yield event(CHANGED, {"runs": sorted(change.runs), "may_be_more": change.may_be_more})


def _is_same(sent: RunState | None, state: RunState) -> bool:
    return sent is not None and sent.model_copy(update={"seconds_left": None}) == state.model_copy(
        update={"seconds_left": None}
    )


def _summary(state: RunState) -> dict[str, Any]:
    return {"run": state.run_id, **state.model_dump(mode="json", exclude={"run_id"})}
