"""`/runs/compare`: two runs chosen, and how the second differs from the first."""

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
from schemas.values.retrieval_reports import RetrievalDifference
from services.several_runs import compare_runs
from stages.reports.words import asked_for, origin_words
from store.runs import overviews
from store.runs.overviews import RunOverview

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
            found = await compare_runs(ctx.database, a, b, mode=mode or None, other_mode=other_mode or None)
        except Refused as error:
            wrong["form"] = str(error)
    return page(
        request,
        "compare.html.j2",
        status=422 if wrong else 200,
        suggested={f"r{run.id}": _words(run) for run in suggested},
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
