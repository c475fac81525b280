"""One log line a request: the address as the route writes it, never what a client put into it."""

import logging
import time
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = structlog.get_logger(__name__)

#: Asked again and again by machines, or many times by every page.
_QUIET: Final = ("/healthz", "/readyz", "/metrics", "/static")


class AccessLog:
    """Logs method, route, status and seconds of every request when its reply has gone out."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0
        began = time.perf_counter()

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting_status)
        finally:
            log.log(
                logging.DEBUG if scope["path"].startswith(_QUIET) else logging.INFO,
                "request_served",
                method=scope["method"],
                route=getattr(scope.get("route"), "path", None),
                status=status,
                seconds=round(time.perf_counter() - began, 3),
            )
