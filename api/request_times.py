"""Times requests for the metrics: by the address as its route writes it, never by what a client put into it."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.metrics import Metrics

_STREAM = (b"content-type", b"text/event-stream")


class RequestTimes:
    """Measures from a request to the end of its reply. Event streams last as long as somebody watches, and are left
    out."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0
        is_stream = False

        async def send_noting(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                is_stream = any(
                    name.lower() == _STREAM[0] and value.startswith(_STREAM[1]) for name, value in message["headers"]
                )
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        finally:
            if not is_stream:
                route = getattr(scope.get("route"), "path", "none")
                seconds = time.perf_counter() - began
                self.metrics.requests.labels(scope["method"], route, str(status)).observe(seconds)
