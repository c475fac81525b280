"""Forks of runs and jobs, and stages of a job computed again: forms, and the page that follows."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from secrets import token_urlsafe
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, form_key
from api.pages.results import CONTENT_SECURITY_POLICY
from api.parameters import MAX_ID, PathId, Text
from api.rendering import page
from api.routes import PageRoute
from api.security.authentication import CurrentPrincipal
from api.security.csrf import CheckedForm
from schemas.chains import STAGES, in_order, settings_read
from schemas.errors import Refused, RunMissingError
from schemas.values.differences import Sweep
from schemas.values.estimates import Estimate
from schemas.values.runs import Target
from services.estimates import estimate_fork
from services.forks import ForkRequest, LeftOut, fork
from services.runs import redo
from services.several_runs import (
    PointEstimate,
    estimate_sweep,
    grid_points,
    run_sweep,
    stored_points,
    sweep_results,
)
from stages.reports.several_runs import default_measure, shown_measures
from store.references import interviews
from store.runs import forks, jobs, overviews

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class WrongLine(Refused):
    """A line that is not of the form NAME=VALUE."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Line {number} of the settings is not of the form NAME=VALUE.")


def setting_lines(text: str) -> dict[str, str]:
    """Settings by name, from lines of the form NAME=VALUE. Raises WrongLine."""
    values = {}
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (equals and name) and line.strip():
            raise WrongLine(number)
        if name:
            values[name] = value
    return values


class ForkForm(BaseModel):
    """The form as it was filled in."""

    stage: Text = ""
    settings: Typed = ""
    job_id: Annotated[int, Field(ge=1, le=MAX_ID)] | None = None
    """One job of the run instead of all."""
    once: str = ""

    check: bool = False
    """Estimate instead of fork."""


@router.get("/runs/{run_id}/forks/new")
async def fork_page(
    request: Request,
    ctx: Context,
    run_id: PathId,
    job: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    stage: Text = "",
) -> Response:
    """The form, for a run or one of its jobs."""
    return await _form(request, ctx, run_id, ForkForm(job_id=job, stage=stage, once=token_urlsafe(16)))


@router.post("/runs/{run_id}/forks/new")
async def fork_run(
    request: Request,
    ctx: Context,
    principal: CurrentPrincipal,
    _form_is_ours: CheckedForm,
    run_id: PathId,
    form: Annotated[ForkForm, Form()],
) -> Response:
    """Store the fork and show it, or show what is wrong."""
    target = Target(run_id, None) if form.job_id is None else Target(None, form.job_id)
    try:
        wanted = ForkRequest(target=target, stage=form.stage, values=setting_lines(form.settings))
        if form.check:
            estimated = await estimate_fork(ctx.database, wanted, prices=ctx.prices)
            return await _form(request, ctx, run_id, form, estimated=estimated)
        forked = await fork(ctx.database, wanted, key=form_key(principal, form.once, f"fork {run_id}", form))
    except RunMissingError:
        raise
    except Refused as error:
        return await _form(request, ctx, run_id, form, wrong=str(error))
    if forked.left_out:
        return await _form(request, ctx, run_id, form, left_out=forked.left_out, child=forked.submitted.run_id)
    submitted = forked.submitted
    return RedirectResponse(f"/runs/{submitted.run_id}" + ("" if submitted.is_new else "?existing=true"), 303)


@router.post("/jobs/{job_id}/redo")
async def redo_job(
    ctx: Context, _form_is_ours: CheckedForm, job_id: PathId, stage: Annotated[Text, Form(max_length=40)]
) -> Response:
    """Compute a stage of the job and those after it again, and return to its page."""
    await redo(ctx.database, job_id, stage)
    return RedirectResponse(f"/jobs/{job_id}", 303)


async def _form(
    request: Request,
    ctx: ApiContext,
    run_id: int,
    form: ForkForm,
    *,
    wrong: str | None = None,
    left_out: tuple[LeftOut, ...] = (),
    child: int | None = None,
    estimated: Estimate | None = None,
) -> Response:
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, run_id)
        found = await forks.stage_names(connection, run_id)
        job = None if form.job_id is None else await jobs.job(connection, form.job_id)
    stages = in_order(overview.kind, found.intersection(STAGES))
    return page(
        request,
        "fork.html.j2",
        status=422 if wrong else 200,
        overview=overview,
        job=job,
        form=form,
        stages=stages,
        reads={stage: sorted(settings_read(overview.kind, stage)) for stage in stages},
        wrong=wrong,
        left_out=left_out,
        child=child,
        estimate=estimated,
    )


files = APIRouter(include_in_schema=False)

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


@router.get("/runs/{run_id}/sweeps/new")
async def new_page(request: Request, ctx: Context, run_id: PathId, stage: Text = "") -> Response:
    """The form."""
    return await _sweeps_form(request, ctx, run_id, SweepForm(stage=stage))


@router.post("/runs/{run_id}/sweeps/new")
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
            return await _sweeps_form(request, ctx, run_id, form, estimates=found)
        await run_sweep(ctx.database, target, form.stage, points, wait=False)
    except RunMissingError:
        raise
    except Refused as error:
        return await _sweeps_form(request, ctx, run_id, form, wrong=str(error))
    return RedirectResponse(_address(run_id, Chosen(stage=form.stage, setting=list(grid))), 303)


@router.get("/runs/{run_id}/sweep")
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


@files.get("/runs/{run_id}/sweep.svg")
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
    from services.plots import sweep_plot

    with _DRAWING:
        return sweep_plot(found, measure)


def _address(run_id: int, chosen: Chosen, ending: str = "") -> str:
    given = {name: value for name, value in vars(chosen).items() if value}
    return f"/runs/{run_id}/sweep{ending}?{urlencode(given, doseq=True)}"


async def _sweeps_form(
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
