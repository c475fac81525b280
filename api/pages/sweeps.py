"""Sweeps: the form, the comparison of the forks, and its plot."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forks import setting_lines
from api.pages.forms import Typed
from api.pages.plots import CONTENT_SECURITY_POLICY
from api.parameters import PathId, Text
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.chains import STAGES, in_order
from schemas.errors import Refused, RunMissingError
from schemas.values.differences import Sweep
from schemas.values.runs import Target
from services.sweeps import (
    PointEstimate,
    estimate_sweep,
    grid_points,
    run_sweep,
    stored_points,
    sweep_results,
)
from stages.reports.several_runs import default_measure, shown_measures
from store.references import interviews
from store.runs import forks, overviews

pages = APIRouter(route_class=PageRoute, include_in_schema=False)
images = APIRouter(include_in_schema=False)

Name = Annotated[Text, Query(max_length=100)]

# Matplotlib's styles are global: only one thread may draw.
_DRAWING: Final = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The parameters of a comparison and of its plot: which forks, and what of them is compared."""

    stage: Annotated[Text, Query(pattern="^[a-z_]{1,40}$")]
    setting: Annotated[list[Annotated[Text, Query(max_length=100)]], Query(min_length=1, max_length=20)]
    measure: Name = ""
    select_on: Name = ""
    report_on: Name = ""


class SweepForm(BaseModel):
    """The form as it was filled in."""

    stage: Text = ""
    grid: Typed = ""
    sample: Annotated[Text, Field(pattern="^([1-9][0-9]{0,3})?$")] = ""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 42
    check: bool = False
    """Estimate instead of fork."""

    def values(self) -> dict[str, list[str]]:
        """The values of each setting. Raises WrongLine for a line of another form."""
        return {
            name: [value for part in text.split(",") if (value := part.strip())]
            for name, text in setting_lines(self.grid).items()
        }


@pages.get("/runs/{run_id}/sweeps/new")
async def new_page(request: Request, ctx: Context, run_id: PathId, stage: Text = "") -> Response:
    """The form."""
    return await _form(request, ctx, run_id, SweepForm(stage=stage))


@pages.post("/runs/{run_id}/sweeps/new")
async def new(
    request: Request, ctx: Context, _form_is_ours: CheckedForm, run_id: PathId, form: Annotated[SweepForm, Form()]
) -> Response:
    """Store a fork at each point and show their comparison, or estimate them, or show what is wrong.

    It needs no key: the same sweep again finds the forks that are stored.
    """
    target = Target(run_id, None)
    try:
        grid = form.values()
        points = grid_points(grid, sample=int(form.sample) if form.sample else None, seed=form.seed)
        if form.check:
            found = await estimate_sweep(ctx.database, target, form.stage, points, prices=ctx.prices)
            return await _form(request, ctx, run_id, form, estimates=found)
        await run_sweep(ctx.database, target, form.stage, points, wait=False)
    except RunMissingError:
        raise
    except Refused as error:
        return await _form(request, ctx, run_id, form, wrong=str(error))
    return RedirectResponse(_address(run_id, Chosen(stage=form.stage, setting=list(grid))), 303)


@pages.get("/runs/{run_id}/sweep")
async def sweep_page(
    request: Request,
    ctx: Context,
    run_id: PathId,
    chosen: Annotated[Chosen, Depends()],
) -> Response:
    """The forks from a stage that set these settings, compared with the run."""
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, run_id)
        splits = await interviews.split_names(connection)
    found: Sweep | None = None
    wrong: str | None = None
    try:
        found = await _found(ctx, run_id, chosen)
    except Refused as error:
        wrong = str(error)
    measure = chosen.measure or (default_measure(found.results[0]) if found else "")
    return page(
        request,
        "sweep.html.j2",
        status=422 if wrong else 200,
        overview=overview,
        stage=chosen.stage,
        names=chosen.setting,
        measure=measure,
        measures=list(found.results[0].compared[0].measures) if found else [],
        select_on=chosen.select_on,
        report_on=chosen.report_on,
        splits=splits,
        found=found,
        wrong=wrong,
        shown=[shown_measures(one) for one in found.results] if found else [],
        plot=_address(run_id, replace(chosen, measure=measure), ".svg"),
    )


@images.get("/runs/{run_id}/sweep.svg")
async def sweep_image(
    ctx: Context,
    run_id: PathId,
    chosen: Annotated[Chosen, Depends()],
) -> Response:
    """The difference of each point in one measure, as an image."""
    found = await _found(ctx, run_id, chosen)
    image = await asyncio.to_thread(_drawn, found, chosen.measure or None)
    return Response(image, media_type="image/svg+xml", headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


async def _found(ctx: ApiContext, run_id: int, chosen: Chosen) -> Sweep:
    return await sweep_results(
        ctx.database,
        run_id,
        chosen.stage,
        await stored_points(ctx.database, run_id, chosen.stage, chosen.setting),
        measure=chosen.measure or None,
        select_on=chosen.select_on.strip() or None,
        report_on=chosen.report_on.strip() or None,
    )


def _drawn(found: Sweep, measure: str | None) -> str:
    # Importing Matplotlib takes a second.
    from services.plots.of_run import sweep_plot

    with _DRAWING:
        return sweep_plot(found, measure)


def _address(run_id: int, chosen: Chosen, ending: str = "") -> str:
    given = {name: value for name, value in vars(chosen).items() if value}
    return f"/runs/{run_id}/sweep{ending}?{urlencode(given, doseq=True)}"


async def _form(
    request: Request,
    ctx: ApiContext,
    run_id: int,
    form: SweepForm,
    *,
    wrong: str | None = None,
    estimates: Sequence[PointEstimate] = (),
) -> Response:
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, run_id)
        found = await forks.stage_names(connection, run_id)
    return page(
        request,
        "new_sweep.html.j2",
        status=422 if wrong else 200,
        overview=overview,
        form=form,
        stages=in_order(overview.kind, found.intersection(STAGES)),
        wrong=wrong,
        estimates=estimates,
        missing=list(dict.fromkeys(words for one in estimates for words in one.estimate.missing)),
    )
