"""`/participants`: the newest runs that score participants with their errors, the splits, and the reference indexes."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.context import Context
from api.rendering import page
from api.routes import PageRoute
from schemas.values.phq8 import AssessmentMode
from stages.participants.split_names import first_index
from stages.reports.words import asked_for
from store.references import interviews, references
from store.runs.run_view import registered

#: The newest runs; the list of runs has all.
SHOWN: Final = 15

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/participants")
async def participants_page(request: Request, ctx: Context) -> Response:
    """What there is to score, and what was scored."""
    async with ctx.database.connection() as connection:
        runs = await registered(connection, limit=SHOWN, kind="participant")
        splits = await interviews.split_sizes(connection)
        indexes = await references.current(connection)
    return page(
        request,
        "participants.html.j2",
        runs=runs,
        asked={run.id: asked_for(run.request) for run in runs},
        figures={run.id: {one.mode: one for one in run.experiments} for run in runs},
        modes=[AssessmentMode.FEW_SHOT, AssessmentMode.ZERO_SHOT],
        splits=splits,
        indexes=indexes,
        first_index=first_index(splits),
    )
