"""`/runs/{id}/report.html`, `.csv` and `.json`: the report of a run as files, with the default measures."""

import asyncio
from enum import StrEnum

from fastapi import APIRouter
from starlette.responses import Response

from api.context import Context
from api.pages.plots import CONTENT_SECURITY_POLICY
from api.parameters import PathId
from schemas.values.measures import RetrievalMeasures
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from stages.reports.report import build_report, measures_of
from stages.reports.report_numbers import as_csv, report_numbers, retrieval_numbers
from stages.reports.retrieval import build_retrieval_report
from store.views.run_state import reported_run

router = APIRouter(include_in_schema=False)


class Ending(StrEnum):
    """What a report is written in."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """As the header `Content-Type` names it."""
        return "application/json" if self is Ending.JSON else f"text/{self.value}"


@router.get("/runs/{run_id}/report.{ending}")
async def report_file(ctx: Context, run_id: PathId, ending: Ending) -> Response:
    """What `ragq report` writes with `--html`, `--csv` or `--json`; a run that has not finished can be reported too."""
    async with ctx.database.connection() as connection:
        run = await reported_run(connection, run_id)
    text = await asyncio.to_thread(_written, run, ending)
    headers = {"Content-Disposition": f'attachment; filename="r{run_id}-report.{ending}"'}
    if ending is Ending.HTML:
        headers |= {
            "Content-Disposition": f'inline; filename="r{run_id}-report.html"',
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        }
    return Response(text, media_type=ending.media_type, headers=headers)


def _written(run: ScoredRun | QueryRun, ending: Ending) -> str:
    if isinstance(run, QueryRun):
        retrieval = build_retrieval_report(run, measures=RetrievalMeasures())
        match ending:
            case Ending.JSON:
                return retrieval.model_dump_json(indent=2)
            case Ending.CSV:
                return as_csv(retrieval_numbers(retrieval), confidence=None)
    else:
        scored = build_report(run, measures=measures_of(run.settings, {}))
        match ending:
            case Ending.JSON:
                return scored.model_dump_json(indent=2)
            case Ending.CSV:
                return as_csv(report_numbers(scored), confidence=scored.measures.confidence)
    # Drawing loads Matplotlib, which takes a second.
    from services.report_pages.pages import report_page, retrieval_page

    return retrieval_page(retrieval) if isinstance(run, QueryRun) else report_page(scored)
