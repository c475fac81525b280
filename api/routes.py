"""Pages and resources share addresses: a client that accepts HTML gets the page."""

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope


class PageRoute(APIRoute):
    """A route for browsers. Other clients do not match it, and get the resource of the same address."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route, for clients that accept HTML."""
        if scope["type"] == "http" and not wants_html(Headers(scope=scope)):
            return Match.NONE, {}
        return super().matches(scope)


def wants_html(headers: Headers) -> bool:
    """Whether a client accepts `text/html` by name, which `*/*` does not, or is htmx."""
    return "text/html" in headers.get("accept", "") or headers.get("hx-request") == "true"
