"""`/runs/{id}/scores`: the scores of every participant of a run beside the truth, and as files."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic_core import to_json
from starlette.responses import Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from schemas.values.figures import ScoreTable
from schemas.values.phq8 import PHQ8Item
from services.scorers import scores_of_run
from stages.reports.score_csv import score_csv
from stages.reports.words import notices
from store.runs import overviews

pages = APIRouter(route_class=PageRoute, include_in_schema=False)
files = APIRouter(include_in_schema=False)


@pages.get("/runs/{run_id}/scores")
async def scores_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Every participant; those without scores with their state."""
    async with ctx.database.connection() as connection:
        table = await scores_of_run(connection, run_id)
        overview = await overviews.get(connection, run_id)
    return page(
        request,
        "scores.html.j2",
        overview=overview,
        table=table,
        items=list(PHQ8Item),
        notices=list(notices(overview.kind, overview.profile, overview.request)),
    )


@files.get("/runs/{run_id}/scores.csv")
async def scores_as_csv(ctx: Context, run_id: PathId) -> Response:
    """A row per participant and mode."""
    table = await _scores(ctx, run_id)
    return PlainTextResponse(score_csv(table), media_type="text/csv", headers=_as_file(run_id, "csv"))


@files.get("/runs/{run_id}/scores.json")
async def scores_as_json(ctx: Context, run_id: PathId) -> Response:
    """One JSON object, with the summaries of the modes."""
    table = await _scores(ctx, run_id)
    return Response(to_json(table), media_type="application/json", headers=_as_file(run_id, "json"))


async def _scores(ctx: ApiContext, run_id: int) -> ScoreTable:
    async with ctx.database.connection() as connection:
        return await scores_of_run(connection, run_id)


def _as_file(run_id: int, ending: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="r{run_id}-scores.{ending}"'}
