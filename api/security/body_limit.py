"""The size limit of request bodies."""

from typing import NamedTuple

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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

    Uploads of files have a limit of their own.
    """

    def __init__(self, app: ASGIApp, *, kilobytes: int, upload_kilobytes: int) -> None:
        self.app = app
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

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit.bytes:
                raise HTTPException(413, limit.detail)
            return message

        await self.app(scope, receive_within_limit, send)
