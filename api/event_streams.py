"""What the streams of server-sent events have in common."""

import json
from typing import Any, Final

from sse_starlette import ServerSentEvent

from api.problems import problem_responses

#: A stream reads the state this often even without a notification.
POLL_SECONDS: Final = 15.0
PING_SECONDS: Final = 15


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
