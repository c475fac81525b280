"""`/runs/compare`: runs and how they differ from the first of them; two jobs side by side."""

import asyncio
import json
from difflib import unified_diff
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from schemas.errors import Refused
from schemas.values.base import Text
from schemas.values.differences import Comparison
from schemas.values.participants import AssessmentMode
from services.comparisons import compare, named_runs
from stages.reports.comparison_sheet import comparison_sheet
from store.runs import forks, overviews
from store.views import AttemptTrace, JobTrace, StageTrace, job_trace

#: The newest runs, of which the form suggests those that can be compared.
SUGGESTED: Final = 50
_MOST_LINES: Final = 2000

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
    numbers: list[int] = []
    words = [one.strip() for one in runs.split(",") if one.strip()]
    async with ctx.database.connection() as connection:
        newest = await overviews.overviews(connection, limit=SUGGESTED)
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
    csv = f"/runs/{numbers[0]}/compare.csv?" + "&".join(f"other={one}" for one in numbers[1:]) if found else None
    return page(
        request,
        "compare.html.j2",
        status=422 if wrong else 200,
        runs=runs,
        mode=mode,
        other_mode=other_mode,
        modes=list(AssessmentMode),
        suggested=[run for run in newest if run.kind in ("participant", "query")],
        wrong=wrong,
        sheets=[comparison_sheet(one) for one in found],
        csv=csv,
    )


@router.get("/jobs/{job_id}/beside/{other_id}")
async def jobs_page(request: Request, ctx: Context, job_id: PathId, other_id: PathId) -> Response:
    """Two jobs side by side: prompts, references, verdicts and replies, with what differs marked."""
    async with ctx.database.connection() as connection:
        left, right = [await job_trace(connection, one) for one in (job_id, other_id)]
        parent = await forks.parent_job(connection, other_id)
    return page(
        request,
        "jobs_beside.html.j2",
        left=left,
        right=right,
        parent=parent,
        pairs=await asyncio.to_thread(_pairs, left, right),
    )


Pair = tuple[str, bool, dict[str, list[str]]]
"""A stage of two jobs, whether the second has a copy of the output of the first, and the lines of what differs."""


def _pairs(left: JobTrace, right: JobTrace) -> list[Pair]:
    of_left, of_right = ({stage.stage: stage for stage in of.stages} for of in (left, right))
    return [_pair(of_left.get(name), of_right.get(name), name) for name in dict.fromkeys([*of_left, *of_right])]


def _pair(left: StageTrace | None, right: StageTrace | None, name: str) -> Pair:
    before, after = (None if side is None else side.current for side in (left, right))
    texts = [_texts(None if side is None else side.output, side) for side in (before, after)]
    parts = {
        part: changed_lines(texts[0].get(part, ""), texts[1].get(part, ""))
        for part in dict.fromkeys([*texts[0], *texts[1]])
        if texts[0].get(part, "") != texts[1].get(part, "")
    }
    is_copied = after is not None and before is not None and after.copied_from == (before.job_id, before.number)
    return name, is_copied, parts


def _texts(output: dict[str, Any] | None, attempt: AttemptTrace | None) -> dict[str, str]:
    """The parts of an output as texts, and the requests and replies of its calls."""
    found = {} if output is None else {name: _as_text(value) for name, value in output.items()}
    if attempt is not None:
        for call in attempt.calls:
            found[f"call {call.ordinal + 1}: prompt"] = "\n".join(message["content"] for message in call.messages)
            found[f"call {call.ordinal + 1}: reply"] = call.reply or ""
    return found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def changed_lines(old: str, new: str) -> list[str]:
    """What `diff -u` shows of two texts, without the names of files. Long ones are not searched for what they have in
    common, which takes more than linear time."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES and before != after:
        return [
            f"@@ -1,{len(before)} +1,{len(after)} @@",
            *(f"-{line}" for line in before),
            *(f"+{line}" for line in after),
        ]
    return list(unified_diff(before, after, lineterm=""))[2:]
