"""What the streams of server-sent events have in common."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from api.problems import problem_responses
from api.streams import Streams

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
        """As an ASGI application."""
        with self._streams.opened():
            await super().__call__(scope, receive, send)


def event(name: str, data: dict[str, Any], *, id: str | None = None) -> ServerSentEvent:
    """An event with JSON as its data."""
    return ServerSentEvent(event=name, data=json.dumps(data, allow_nan=False), id=id)


def stream_responses(*events: str, example: str, problems: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    """The replies of a stream, for its OpenAPI description."""
    described = {
        "type": "object",
        "properties": {
            "event": {"type": "string", "enum": list(events)},
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
        "required": ["event", "data"],
    }
    return {
        200: {
            "description": f"Events {' and '.join(f'`{name}`' for name in events)}",
            "content": {"text/event-stream": {"itemSchema": described, "example": example}},
        },
        **problem_responses(*problems),
    }
