"""`/failures`: what went wrong across runs, and the prompts and replies of one cause."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import Text
from api.rendering import page
from api.routes import PageRoute
from schemas.chains import STAGES
from schemas.errors import Refused
from schemas.values.runs import run_number
from services.failure_clusters import NEWEST_RUNS, SHOWN_EXCHANGES, exchanges, failures_of
from store.runs import run_names

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Words = Annotated[Text, Query(max_length=400)]


@router.get("/failures")
async def failures_page(
    request: Request, ctx: Context, run: Words = "", stage: Words = "", type: Words = "", cause: Words = ""
) -> Response:
    """The failures of the newest runs, or of one, by cause; with a cause its prompts and replies."""
    wrong: dict[str, str] = {}
    found, shown = None, []
    in_stage, error_type = stage or None, type.strip() or None
    async with ctx.database.connection() as connection:
        try:
            run_ids = []
            if run.strip():
                number = run_number(run.strip()) or await run_names.find(connection, run.strip())
                if number is None:
                    raise Refused("There is no run of this number or name; the list of runs shows both.")
                run_ids = [number]
            found = await failures_of(connection, run_ids, stage=in_stage, error_type=error_type)
            if cause:
                shown = await exchanges(connection, found.run_ids, stage=in_stage, error_type=error_type, cause=cause)
        except Refused as error:
            wrong["form"] = str(error)
    return page(
        request,
        "failures.html.j2",
        status=422 if wrong else 200,
        wrong=wrong,
        run=run,
        stage=stage,
        type=type,
        cause=cause,
        stages=STAGES,
        found=found,
        shown=shown,
        newest=NEWEST_RUNS,
        most=SHOWN_EXCHANGES,
    )
