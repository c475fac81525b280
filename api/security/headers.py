"""Headers of every reply."""

from collections.abc import Callable
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Scripts, styles and images come from this server alone, none is inline, and no site may frame a page.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

_FEATURES: Final = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "microphone",
    "payment",
    "usb",
)

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # `no-referrer` would hide the origin of this server's own forms, too.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _FEATURES),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ResponseHeaders:
    """Calls `change` with the scope of every request and the headers of its reply, before they are sent."""

    def __init__(self, app: ASGIApp, *, change: Callable[[Scope, MutableHeaders], None]) -> None:
        self.app = app
        self.change = change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""

        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.change(scope, MutableHeaders(scope=message))
            await send(message)

        await self.app(scope, receive, send_changed)


def add_security_headers(scope: Scope, headers: MutableHeaders) -> None:
    """Add HEADERS, except those that the reply sets itself, such as a policy of its own for a plot."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    # `no-cache` lets a browser keep a file and ask by its ETag whether it is still current.
    headers["Cache-Control"] = "no-cache" if scope["path"].startswith("/static/") else "no-store"
