"""What runs found: participants, scores, comparisons, evaluations and reports."""

import asyncio
from typing import Annotated, Final, Literal

from fastapi import Query, Request
from starlette.responses import Response

from api.context import Context
from api.pages.forms import page_router
from api.parameters import PathId
from api.rendering import page
from schemas.errors import Refused
from schemas.values.base import Text
from schemas.values.differences import Comparison, RetrievalMeasures
from schemas.values.participants import AssessmentMode
from schemas.values.queries import QueryRun
from schemas.values.requests import RunsWanted
from schemas.values.runs import ScoredRun
from services.evaluations import evaluation_report
from services.reports import compare, named_runs, report_of, report_page, sheet_of
from stages.participants.splits import first_index
from stages.reports.comparison_sheet import comparison_sheet
from stages.reports.evaluation import evaluation_sheet
from stages.reports.score_table import score_csv
from stages.reports.tables import UI, as_csv
from store.references import interviews, references
from store.runs import overviews
from store.runs.run_view import with_figures
from store.views import reported_run, scores_of_run

#: The newest runs; the list of runs has all.
SHOWN: Final = 15

router = page_router(UI)


@router.get("/participants")
async def participants_page(request: Request, ctx: Context) -> Response:
    """What there is to score, and what was scored."""
    async with ctx.database.connection() as connection:
        newest = await overviews.listed(connection, RunsWanted(kind="participant", limit=SHOWN))
        runs = (await with_figures(connection, newest)).items
        splits = await interviews.stored_splits(connection)
        indexes = await references.current(connection)
    return page(
        request,
        "participants.html.j2",
        runs=runs,
        figures={run.id: {one.mode: one for one in run.experiments or ()} for run in runs},
        modes=[AssessmentMode.FEW_SHOT, AssessmentMode.ZERO_SHOT],
        splits=splits,
        indexes=indexes,
        first_index=first_index(splits),
    )


@router.get("/runs/{run_id}/scores")
async def scores_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Every participant; those without scores with their state."""
    async with ctx.database.connection() as connection:
        table = await scores_of_run(connection, run_id)
        overview = await overviews.get(connection, run_id)
    return page(request, "scores.html.j2", overview=overview, table=table)


Mode = Literal["", "zero_shot", "few_shot"]


@router.get("/runs/compare")
async def compare_page(
    request: Request,
    ctx: Context,
    runs: Annotated[Text, Query(max_length=2000)] = "",
    mode: Mode = "",
    other_mode: Mode = "",
) -> Response:
    """The form; with runs by number or name and commas between them, their comparison with the first."""
    found: list[Comparison] = []
    wrong: dict[str, str] = {}
    words = [one.strip() for one in runs.split(",") if one.strip()]
    if len(words) > 1:
        try:
            numbers = await ctx.database.once(named_runs, words)
            found = await compare(ctx.database, numbers, mode=mode or None, other_mode=other_mode or None)
        except Refused as error:
            wrong = {"form": str(error)}
    return page(
        request,
        "compare.html.j2",
        runs=runs,
        mode=mode,
        other_mode=other_mode,
        modes=list(AssessmentMode),
        wrong=wrong,
        sheets=[comparison_sheet(one) for one in found],
    )


@router.get("/runs/{run_id}/evaluation")
async def evaluation_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Precision and recall of citations, correctness and completeness."""
    async with ctx.database.connection() as connection:
        report = await evaluation_report(connection, run_id, measures=RetrievalMeasures())
        overview = await overviews.get(connection, run_id)
    return page(request, "evaluation.html.j2", overview=overview, report=report, sheet=evaluation_sheet(report))


#: Matplotlib writes inline styles into its files; nothing else is allowed.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@router.get("/runs/{run_id}/scores.csv")
async def scores_as_csv(ctx: Context, run_id: PathId) -> Response:
    """A row per participant and mode."""
    table = await ctx.database.once(scores_of_run, run_id)
    headers = {"Content-Disposition": f'attachment; filename="r{run_id}-scores.csv"'}
    return Response(score_csv(table), media_type="text/csv", headers=headers)


@router.get("/runs/{run_id}/report.{ending}")
async def report_file(ctx: Context, run_id: PathId, ending: Literal["html", "csv", "json"]) -> Response:
    """What `ragq report` writes with `--html`, `--csv` or `--json`; a run that has not finished can be reported too."""
    run = await ctx.database.once(reported_run, run_id)
    text = await asyncio.to_thread(_written, run, ending)
    name = f'filename="r{run_id}-report.{ending}"'
    if ending == "html":
        headers = {"Content-Disposition": f"inline; {name}", "Content-Security-Policy": _POLICY}
        return Response(text, media_type="text/html", headers=headers)
    media_type = "application/json" if ending == "json" else "text/csv"
    return Response(text, media_type=media_type, headers={"Content-Disposition": f"attachment; {name}"})


def _written(run: ScoredRun | QueryRun, ending: str) -> str:
    report = report_of(run)
    if ending == "json":
        return report.model_dump_json(indent=2)
    if ending == "csv":
        return as_csv([sheet_of(report)])
    return report_page(report)
