"""The limits of request bodies: their size, and the time in which they have to arrive."""

import asyncio
from typing import Final, NamedTuple

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SLOWEST: Final = 100_000
"""Bytes a second of a connection that is slow and honest."""


class _Limit(NamedTuple):
    kilobytes: int
    setting: str

    @property
    def bytes(self) -> int:
        return self.kilobytes * 1024

    @property
    def detail(self) -> str:
        return f"The body is larger than {self.kilobytes} KB. {self.setting} sets the limit."


class BodyLimit:
    """Refuses a body that is too large: by its Content-Length, or as soon as the bytes received exceed the limit.

    Uploads of files have a limit of their own. A body that is not whole after `seconds`, and one more for each 100 KB
    that came, is refused too: clients that send a byte now and then would fill the process with open requests.
    """

    def __init__(self, app: ASGIApp, *, kilobytes: int, upload_kilobytes: int, seconds: float) -> None:
        self.app = app
        self._seconds = seconds
        self._body = _Limit(kilobytes, "RAGQ_API_MAX_BODY_KB")
        self._upload = _Limit(upload_kilobytes, "RAGQ_API_MAX_UPLOAD_KB")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException, from `receive` too."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = self._upload if headers.get("content-type", "").startswith("multipart/") else self._body
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit.bytes:
            raise HTTPException(413, limit.detail)
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
            if received > limit.bytes:
                raise HTTPException(413, limit.detail)
            return message

        await self.app(scope, receive_within_limit, send)
