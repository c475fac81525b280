"""The size limit of request bodies."""

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Refuses a body that is too large: by its Content-Length, or as soon as the bytes received exceed the limit."""

    def __init__(self, app: ASGIApp, *, kilobytes: int) -> None:
        self.app = app
        self.limit = kilobytes * 1024
        self.detail = f"The body is larger than {kilobytes} KB. RAGQ_API_MAX_BODY_KB sets the limit."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException, from `receive` too."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > self.limit:
            raise HTTPException(413, self.detail)
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise HTTPException(413, self.detail)
            return message

        await self.app(scope, receive_within_limit, send)
