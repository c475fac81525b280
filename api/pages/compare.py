"""`/runs/compare`: runs and how they differ from the first of them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.rendering import page
from api.routes import PageRoute
from schemas.errors import Refused
from schemas.values.base import Text
from schemas.values.differences import Comparison
from schemas.values.participants import AssessmentMode
from services.comparisons import compare, named_runs
from stages.reports.comparison_sheet import comparison_sheet

router = APIRouter(route_class=PageRoute, include_in_schema=False)

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
    wrong: str | None = None
    words = [one.strip() for one in runs.split(",") if one.strip()]
    if len(words) > 1:
        try:
            async with ctx.database.connection() as connection:
                numbers = await named_runs(connection, words)
            found = await compare(
                ctx.database,
                numbers,
                mode=mode or None,
                other_mode=other_mode or None,
            )
        except Refused as error:
            wrong = str(error)
    return page(
        request,
        "compare.html.j2",
        status=422 if wrong else 200,
        runs=runs,
        mode=mode,
        other_mode=other_mode,
        modes=list(AssessmentMode),
        wrong=wrong,
        sheets=[comparison_sheet(one) for one in found],
    )
