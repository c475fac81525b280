"""Pages and resources share addresses: a client that accepts HTML gets the page."""

from fastapi import Request
from fastapi.routing import APIRoute, iter_route_contexts
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


def methods_here(request: Request) -> set[str]:
    """The methods of every route with the path of the request."""
    met = getattr(request.scope.get("route"), "path", None)
    return {
        method
        for route in iter_route_contexts(request.app.routes)
        if met is not None and route.path == met
        for method in route.methods or ()
    }
