"""`/participants`: the newest runs that score participants with their errors, the splits, and the reference indexes."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Final

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import PlainTextResponse
from starlette.responses import Response

from api.context import Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.headers import CONTENT_SECURITY_POLICY
from schemas.values.participants import AssessmentMode, PHQ8Item
from stages.participants.splits import first_index
from stages.reports.score_table import score_csv
from store.references import interviews, references
from store.runs import overviews
from store.runs.run_view import registered
from store.views import scores_of_run

#: The newest runs; the list of runs has all.
SHOWN: Final = 15

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/participants")
async def participants_page(request: Request, ctx: Context) -> Response:
    """What there is to score, and what was scored."""
    async with ctx.database.connection() as connection:
        newest = await overviews.overviews(connection, limit=SHOWN, kind="participant")
        runs = await registered(connection, newest)
        splits = await interviews.split_sizes(connection)
        indexes = await references.current(connection)
    return page(
        request,
        "participants.html.j2",
        runs=runs,
        figures={run.id: {one.mode: one for one in run.experiments} for run in runs},
        modes=[AssessmentMode.FEW_SHOT, AssessmentMode.ZERO_SHOT],
        splits=splits,
        indexes=indexes,
        first_index=first_index(splits),
    )


FILES: Final = "/static/docs"
"""Where the files of Swagger UI are served."""

_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)

files = APIRouter(include_in_schema=False)


@files.get("/docs")
async def show_reference(request: Request) -> Response:
    """Every address with its parameters, bodies and replies, which can be tried; its one inline script is allowed."""
    shown = get_swagger_ui_html(
        openapi_url=str(request.app.openapi_url),
        title="API reference · ragq",
        swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{FILES}/swagger-ui.css",
        swagger_favicon_url="/static/icon.svg",
    )
    (script,) = _INLINE.findall(bytes(shown.body))
    allowed = f"'sha256-{b64encode(sha256(script).digest()).decode()}'"
    policy = CONTENT_SECURITY_POLICY.replace("script-src 'self'", f"script-src 'self' {allowed}")
    shown.headers["Content-Security-Policy"] = policy
    return shown


@router.get("/runs/{run_id}/scores")
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
    )


@files.get("/runs/{run_id}/scores.csv")
async def scores_as_csv(ctx: Context, run_id: PathId) -> Response:
    """A row per participant and mode."""
    table = await ctx.database.once(scores_of_run, run_id)
    headers = {"Content-Disposition": f'attachment; filename="r{run_id}-scores.csv"'}
    return PlainTextResponse(score_csv(table), media_type="text/csv", headers=headers)
