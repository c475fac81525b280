"""Evaluations of answers: the page of the results."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from schemas.values.differences import RetrievalMeasures
from services.evaluations import evaluation_report
from stages.reports.evaluation import evaluation_sheet
from store.runs import overviews

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/runs/{run_id}/evaluation")
async def evaluation_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Precision and recall of citations, correctness, completeness, and how far the judge can be trusted."""
    async with ctx.database.connection() as connection:
        report = await evaluation_report(connection, run_id, measures=RetrievalMeasures())
        overview = await overviews.overview(connection, run_id)
    return page(
        request,
        "evaluation.html.j2",
        overview=overview,
        report=report,
        sheet=evaluation_sheet(report),
    )
