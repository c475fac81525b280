"""Logs and times requests: by the path template of the route, never by what a client put into the path."""

import logging
import time
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.metrics import Metrics

log = structlog.get_logger(__name__)

#: Requested often by machines, or many times by every page: logged at level DEBUG.
_QUIET: Final = ("/healthz", "/readyz", "/metrics", "/static")


class RequestLog:
    """Logs method, route, status and seconds of every request after its reply is sent, and adds them to the metrics.

    Event streams last as long as a client listens, and are absent from the metrics.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0
        is_stream = False
        started = time.perf_counter()

        async def send_noting_status(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                is_stream = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
            await send(message)

        try:
            await self.app(scope, receive, send_noting_status)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", None)
            if not is_stream:
                self.metrics.requests.labels(scope["method"], route or "none", str(status)).observe(seconds)
            log.log(
                logging.DEBUG if scope["path"].startswith(_QUIET) else logging.INFO,
                "request_served",
                method=scope["method"],
                route=route,
                status=status,
                seconds=round(seconds, 3),
            )
