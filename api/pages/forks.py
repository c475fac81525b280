"""Forks of runs and jobs, and stages of a job computed again: forms, and the page that follows."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, assigned
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.chains import STAGES, in_order, settings_read
from schemas.errors import Refused, RunMissingError
from schemas.values.base import MAX_ID, Text
from schemas.values.estimates import Estimate
from schemas.values.runs import Target
from services.estimates import estimate
from services.forks import ForkRequest, LeftOut, fork
from services.runs import redo
from store.runs import forks, jobs, overviews

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ForkForm(BaseModel):
    """The form as it was filled in."""

    stage: Text = ""
    settings: Typed = ""
    job_id: Annotated[int, Field(ge=1, le=MAX_ID)] | None = None
    """One job of the run instead of all."""
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
    return await _form(request, ctx, run_id, ForkForm(job_id=job, stage=stage))


@router.post("/runs/{run_id}/forks/new")
async def fork_run(
    request: Request,
    ctx: Context,
    _form_is_ours: CheckedForm,
    run_id: PathId,
    form: Annotated[ForkForm, Form()],
) -> Response:
    """Store the fork and show it, or show what is wrong."""
    target = Target(run_id, None) if form.job_id is None else Target(None, form.job_id)
    try:
        wanted = ForkRequest(target=target, stage=form.stage, values=assigned(form.settings))
        if form.check:
            estimated = await estimate(ctx.database, wanted.plan, prices=ctx.prices)
            return await _form(request, ctx, run_id, form, estimated=estimated)
        forked = await fork(ctx.database, wanted)
    except RunMissingError:
        raise
    except Refused as error:
        return await _form(request, ctx, run_id, form, wrong=str(error))
    if forked.left_out:
        return await _form(request, ctx, run_id, form, left_out=forked.left_out, child=forked.run_id)
    return RedirectResponse(f"/runs/{forked.run_id}" + ("" if forked.is_new else "?existing=true"), 303)


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
