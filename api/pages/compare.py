"""`/runs/compare`: two runs chosen, and how the second differs from the first."""

import asyncio
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import Text
from api.rendering import page
from api.routes import PageRoute
from schemas.errors import Refused
from schemas.values.differences import Difference
from schemas.values.phq8 import AssessmentMode
from schemas.values.query_runs import QueryRun
from schemas.values.retrieval_reports import RetrievalDifference, RetrievalMeasures
from schemas.values.scored_runs import ScoredRun
from services.comparisons import compare_queries, compare_scores
from stages.reports.origin_words import origin_words
from stages.reports.run_words import asked_for
from store.database import Connection
from store.runs import overviews, run_names
from store.runs.overviews import RunOverview
from store.views.reported_runs import reported_run

#: The newest runs that the form suggests.
SUGGESTED: Final = 50

router = APIRouter(route_class=PageRoute, include_in_schema=False)

RunWords = Annotated[Text, Query(max_length=200)]
Mode = Literal["", "zero_shot", "few_shot"]

Found = list[Difference] | RetrievalDifference


@router.get("/runs/compare")
async def compare_page(
    request: Request, ctx: Context, a: RunWords = "", b: RunWords = "", mode: Mode = "", other_mode: Mode = ""
) -> Response:
    """The form; with two runs, by number or name, their comparison."""
    found: Found | None = None
    wrong: dict[str, str] = {}
    async with ctx.database.connection() as connection:
        suggested = [
            run
            for run in await overviews.overviews(connection, limit=SUGGESTED)
            if run.kind in ("participant", "query")
        ]
        if a.strip() and b.strip():
            try:
                left, right = [await _run(connection, words) for words in (a, b)]
            except Refused as error:
                wrong["form"] = str(error)
    if a.strip() and b.strip() and not wrong:
        try:
            found = await asyncio.to_thread(_compare, left, right, mode, other_mode)
        except Refused as error:
            wrong["form"] = str(error)
    return page(
        request,
        "compare.html.j2",
        status=422 if wrong else 200,
        suggested={
            f"r{run.id}": " ".join(filter(None, (run.name, run.kind, asked_for(run.request)))) for run in suggested
        },
        a=a,
        b=b,
        mode=mode,
        other_mode=other_mode,
        modes=list(AssessmentMode),
        wrong=wrong,
        differences=found if isinstance(found, list) else None,
        retrieval=found if isinstance(found, RetrievalDifference) else None,
        origin_words=origin_words,
    )


def _words(run: RunOverview) -> str:
    return " ".join(filter(None, (run.name, run.kind, asked_for(run.request))))


async def _run(connection: Connection, words: str) -> ScoredRun | QueryRun:
    run_id = await run_names.find(connection, words)
    if run_id is None:
        raise Refused("A or B is neither the number nor the name of a run; the list of runs shows both.")
    return await reported_run(connection, run_id)


def _compare(left: ScoredRun | QueryRun, right: ScoredRun | QueryRun, mode: str, other_mode: str) -> Found:
    if isinstance(left, QueryRun) and isinstance(right, QueryRun):
        return compare_queries(left, right, RetrievalMeasures())
    if other_mode and not mode:
        raise Refused("Choose the mode of A too.")
    return compare_scores(left, right, mode=mode or None, other_mode=other_mode or None, measures={})
