"""Pages and resources under one address: whoever prefers HTML gets the page."""

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope


class PageRoute(APIRoute):
    """A route for browsers. To other clients it is not there, and the resource of the same address answers."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route, for clients that ask for HTML."""
        if scope["type"] == "http" and not wants_html(Headers(scope=scope)):
            return Match.NONE, {}
        return super().matches(scope)


def wants_html(headers: Headers) -> bool:
    """Whether a client asks for HTML by name; `*/*` alone gets JSON, and htmx says that it is htmx."""
    return "text/html" in headers.get("accept", "") or headers.get("hx-request") == "true"
