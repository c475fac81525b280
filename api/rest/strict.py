"""JSON bodies by RFC 8259: UTF-8, no NaN, no duplicate names in an object."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from stages.replies.strict import strict_object


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The object in the body, or None for `null`, which is as good as no body.

        Raises JSONDecodeError, which becomes a problem as any invalid part does.
        """
        body = await self.body()
        try:
            return None if body.strip() == b"null" else strict_object(body.decode())
        except ValueError as error:
            found = "not UTF-8" if isinstance(error, UnicodeError) else str(error)
            raise json.JSONDecodeError(found, "", 0) from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As in any route, with a StrictRequest."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
