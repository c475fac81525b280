"""How much a request may bring."""

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Refuses a body that is too large when its length is told, and else where it becomes too large."""

    def __init__(self, app: ASGIApp, *, kilobytes: int) -> None:
        self.app = app
        self.limit = kilobytes * 1024
        self.detail = f"The body is larger than {kilobytes} KB. RAGQ_API_MAX_BODY_KB sets the limit."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException, from `receive` too."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told = Headers(scope=scope).get("content-length", "0")
        if not told.isdecimal() or int(told) > self.limit:
            raise HTTPException(413, self.detail)
        came = 0

        async def receive_within_limit() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self.limit:
                raise HTTPException(413, self.detail)
            return message

        await self.app(scope, receive_within_limit, send)
