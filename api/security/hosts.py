"""The host names that the server answers to.

Another site may point a host name of its own to 127.0.0.1 (DNS rebinding), and its pages would then be of the same
origin as this server; their requests still carry that name. A numeric address cannot be rebound.
"""

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.settings.process import ProcessSettings
from stack.ports import literal

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
