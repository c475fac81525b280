"""Names that no address knows are refused instead of ignored: parameters in the query, and fields where no body is."""

from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Cookie, Header, Path
from fastapi.routing import APIRoute

from api.security.authentication import PUBLIC_PATHS
from stages.replies.strict import strict_object


async def refuse_unknown_names(request: Request) -> None:
    """Raise RequestValidationError for parameters that the route does not have, and for a body where it takes none.

    Fields of a body that the route takes are checked with the body. Public paths are left out: a monitor may add
    anything to them.
    """
    route: APIRoute = request.scope["route"]
    if route.path in PUBLIC_PATHS:
        return
    refused = _refused_parameters(request, route)
    if route.body_field is None:
        refused += _refused_fields(await request.body())
    if refused:
        raise RequestValidationError(refused)


def refuse_unknown_parameters(request: Request) -> None:
    """As `refuse_unknown_names`, for pages, whose forms check their fields themselves."""
    if refused := _refused_parameters(request, request.scope["route"]):
        raise RequestValidationError(refused)


def _refused_parameters(request: Request, route: APIRoute) -> list[dict[str, Any]]:
    given = request.query_params.keys()
    return [_unknown("query", name) for name in sorted(given - _parameters(route))] if given else []


def _parameters(route: APIRoute) -> frozenset[str]:
    # A field of a model of parameters has no class of its own.
    found = get_flat_params(route.dependant)
    return frozenset(one.alias for one in found if not isinstance(one.field_info, (Path, Header, Cookie)))


def _refused_fields(body: bytes) -> list[dict[str, Any]]:
    """The fields of a body that is not expected, or the body as a whole when it is no object."""
    if body.strip() in (b"", b"null"):
        return []
    try:
        return [_unknown("body", name) for name in strict_object(body.decode())]
    except ValueError:
        return [{"type": "unexpected_body", "loc": ("body",), "msg": "The address takes no body"}]


def _unknown(part: str, name: str) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": (part, name), "msg": "Unknown"}
