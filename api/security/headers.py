"""Headers of every reply."""

import asyncio
import re
from collections.abc import Callable, Collection
from typing import Final
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.settings.process import ProcessSettings
from stack.ports import literal

#: Scripts, styles and images come from this server alone, none is inline, and no site may frame a page.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # `no-referrer` would hide the origin of this server's own forms, too.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
    "microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ResponseHeaders:
    """Calls `change` with the scope of every request and the headers of its reply, before they are sent."""

    def __init__(self, app: ASGIApp, *, change: Callable[[Scope, MutableHeaders], None]) -> None:
        self.app = app
        self.change = change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


# Another site may point a host name of its own to 127.0.0.1 (DNS rebinding), and its pages would then be of the same
# origin as this server; their requests still carry that name. A numeric address cannot be rebound.

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", re.IGNORECASE)


class HostCheck:
    """Refuses requests whose Host is neither `localhost`, nor a numeric address, nor a name that the settings list."""

    def __init__(self, app: ASGIApp, *, settings: ProcessSettings) -> None:
        self.app = app
        self.names = {"localhost", settings.ragq_api_host.lower(), *settings.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException where a problem is the answer."""
        if scope["type"] == "http":
            name = host_name(Headers(scope=scope).get("host", ""))
            if name is None:
                raise HTTPException(400, "The request has no usable Host header.")
            if name not in self.names and literal(name) is None:
                raise HTTPException(421, "The server does not answer to this name; RAGQ_API_ALLOWED_HOSTS lists names.")
        await self.app(scope, receive, send)


def host_name(host: str) -> str | None:
    """The name or address of a Host header, in small letters and without the port; None when it is none.

    >>> host_name("LocalHost:8420"), host_name("[::1]:8420"), host_name("me@box"), host_name("")
    ('localhost', '[::1]', None, None)
    """
    match = _HOST.fullmatch(host)
    return None if match is None else match[1].lower()


def is_cross_origin(headers: Headers, allowed: Collection[str] = ()) -> bool:
    """Whether a page of another origin, and of none in `allowed`, sent a request.

    Another port is another origin. A client that is no browser sends neither header, and is not cross-origin.
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return origin not in allowed and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


_SLOWEST: Final = 100_000
"""Bytes a second of a connection that is slow and honest."""


class BodyLimit:
    """Refuses a body that is too large: by its Content-Length, or as soon as the bytes received exceed the limit.

    Uploads of files have a limit of their own. A body that is not whole after `seconds`, and one more for each 100 KB
    that came, is refused too: clients that send a byte now and then would fill the process with open requests.
    """

    def __init__(self, app: ASGIApp, *, settings: ProcessSettings) -> None:
        self.app = app
        self._seconds = settings.ragq_api_body_seconds
        self._body = (settings.ragq_api_max_body_kb, "RAGQ_API_MAX_BODY_KB")
        self._upload = (settings.ragq_api_max_upload_kb, "RAGQ_API_MAX_UPLOAD_KB")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException, from `receive` too."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        is_upload = headers.get("content-type", "").startswith("multipart/")
        kilobytes, setting = self._upload if is_upload else self._body
        too_large = HTTPException(413, f"The body is larger than {kilobytes} KB. {setting} sets the limit.")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > kilobytes * 1024:
            raise too_large
        received = 0
        began = asyncio.get_running_loop().time()
        is_whole = False

        async def receive_within_limit() -> Message:
            nonlocal received, is_whole
            deadline = None if is_whole else began + self._seconds + received / _SLOWEST
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                detail = f"The body did not arrive within {self._seconds:g} s. RAGQ_API_BODY_SECONDS sets the limit."
                raise HTTPException(408, detail) from None
            is_whole = is_whole or not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > kilobytes * 1024:
                raise too_large
            return message

        await self.app(scope, receive_within_limit, send)
