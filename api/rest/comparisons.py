"""Several runs compared with one of them."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse

from api.context import Context
from api.parameters import MAX_ID, PathId, Text
from api.problems import problem_responses
from schemas.values.differences import SeveralRuns
from services.several_runs import MOST, compare_several
from stages.reports.several_csv import several_csv

router = APIRouter(tags=["runs"])

Others = Annotated[
    list[Annotated[int, Query(ge=1, le=MAX_ID)]],
    Query(min_length=1, max_length=MOST - 1, description="The runs to compare with it", examples=[[13, 14]]),
]
Split = Annotated[
    Text | None, Query(max_length=100, description="Compare on the participants of this split alone", examples=[None])
]


@router.get("/runs/{run_id}/compare", summary="Compare several runs", responses=problem_responses(404, 409, 422))
async def compare(run_id: PathId, ctx: Context, other: Others, split: Split = None) -> list[SeveralRuns]:
    """How other runs of the kind differ from this one, by mode: paired differences with their 95 % intervals, and with
    intervals that are corrected for the number of runs (Bonferroni)."""
    return await compare_several(ctx.database, [run_id, *other], split=split)


@router.get(
    "/runs/{run_id}/compare.csv",
    summary="Compare several runs, as CSV",
    responses=problem_responses(404, 409, 422),
    response_class=PlainTextResponse,
)
async def compare_csv(run_id: PathId, ctx: Context, other: Others, split: Split = None) -> PlainTextResponse:
    """A row per run, mode and measure."""
    found = await compare_several(ctx.database, [run_id, *other], split=split)
    return PlainTextResponse(several_csv(found), media_type="text/csv")
