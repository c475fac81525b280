"""`/docs`: the reference of the REST API."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.reference import reference
from api.rendering import page

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def show_reference(request: Request) -> Response:
    """Every address with its parameters, bodies, replies and an example, rendered from the OpenAPI description."""
    found = reference(request.app.openapi())
    return page(request, "reference.html.j2", groups=found.groups, schemas=found.schemas)
