"""What the streams of server-sent events have in common."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from fastapi import HTTPException
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from schemas.errors import MissingError
from schemas.statuses import JobStatus
from store.database import Database
from store.runs import jobs
from store.runs.edits import Changes
from store.views import RunState, run_state

#: A browser opens a few, and each takes a connection of the server.
STREAMS_AT_MOST: Final = 256


class Streams:
    """The streams of one server. They read the states of runs one after another, so that other requests have
    connections too."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = asyncio.Lock()
        self.open = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A stream counts as open until the block ends. Raises HTTPException 503 when the limit is reached."""
        if self.open >= STREAMS_AT_MOST:
            raise HTTPException(
                503,
                f"{self.open} event streams are open, which is the limit; close some.",
                headers={"Retry-After": "10"},
            )
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    async def state(self, run_id: int) -> RunState | None:
        """The state of a run, read after the call; waits while the database is unavailable. None for an unknown run."""
        async with self._reading:
            try:
                return await self._database.with_retry(lambda one: run_state(one, run_id), retry_for_s=math.inf)
            except MissingError:
                return None


#: A stream reads the state this often even without a notification.
POLL_SECONDS: Final = 15.0
PING_SECONDS: Final = 15


class CountedStream(EventSourceResponse):
    """A stream that counts from its first byte to its last: streams that are asked for at once are not let in beyond
    the limit. Raises HTTPException as `Streams.opened` does, before anything is sent."""

    def __init__(self, streams: Streams, events: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(events, ping=PING_SECONDS)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.opened():
            await super().__call__(scope, receive, send)


def event(name: str, data: dict[str, Any]) -> ServerSentEvent:
    """An event with JSON as its data."""
    return ServerSentEvent(event=name, data=json.dumps(data, allow_nan=False))


_EVENT: Final = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json"}},
    "required": ["event", "data"],
}
#: The reply of a stream, for its OpenAPI description.
STREAM: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/event-stream": {"itemSchema": _EVENT}}}}


#: Rows are read at least this often: a change before the subscription sends no notification.
LONGEST_SLEEP_SECONDS: Final = 3.0


async def wait_until_idle(
    database: Database, changes: Changes, job_id: int, *, has_left: Callable[[], Awaitable[bool]]
) -> JobStatus | None:
    """The status of a job as soon as it is idle, which includes paused, or when the client has left. None when the job
    is no longer stored."""
    async with changes.subscribe(job_id=job_id) as subscription:
        while True:
            async with database.connection() as connection:
                job = await jobs.job(connection, job_id)
            if job is None or not job.status.is_open or await has_left():
                return None if job is None else job.status
            await subscription.next(LONGEST_SLEEP_SECONDS)
