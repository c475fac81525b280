"""Metrics for Prometheus."""

from typing import Any, Final

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from api.context import Context
from api.problems import problem_responses

router = APIRouter(tags=["operations"])

_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The text format of Prometheus",
        "content": {"text/plain": {"schema": {"type": "string"}, "example": 'ragq_queue_depth{stage="embed"} 3.0\n'}},
    },
    **problem_responses(503),
}


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response, responses=_TEXT)
async def show_metrics(ctx: Context) -> Response:
    """Queue depth and age by stage, jobs by state, leases, workers, seconds of stages, calls and tokens of language
    models, seconds of requests. What is read from the database is up to ten seconds old; 503 while the database is
    unavailable."""
    ctx.metrics.streams.set(ctx.streams.open)
    return Response(await ctx.metrics.text(), media_type=CONTENT_TYPE_LATEST)
