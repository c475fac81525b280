"""Evaluations of answers: the form, and the page of the results."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, assigned
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.errors import Refused, RunMissingError
from schemas.values.differences import RetrievalMeasures
from schemas.values.estimates import Estimate
from services.estimates import estimate
from services.evaluations import evaluate, evaluation_report, plan_evaluation
from stages.reports.evaluation import evaluation_sheet
from store.questions import evaluations
from store.runs import overviews

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class EvaluationForm(BaseModel):
    """The form as it was filled in."""

    settings: Typed = ""
    check: bool = False
    """Estimate instead of submit."""


@router.get("/runs/{run_id}/evaluations/new")
async def new_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """The form, and the evaluations that there are."""
    return await _form(request, ctx, run_id, EvaluationForm())


@router.post("/runs/{run_id}/evaluations/new")
async def new(
    request: Request,
    ctx: Context,
    _form_is_ours: CheckedForm,
    run_id: PathId,
    form: Annotated[EvaluationForm, Form()],
) -> Response:
    """Submit the evaluation and show its run, or estimate it, or show what is wrong."""
    try:
        values = assigned(form.settings)
        if form.check:
            plan = partial(plan_evaluation, run_id=run_id, values=values)
            found = await estimate(ctx.database, plan, prices=ctx.prices)
            return await _form(request, ctx, run_id, form, estimated=found)
        submitted = await evaluate(ctx.database, run_id, values)
    except RunMissingError:
        raise
    except Refused as error:
        return await _form(request, ctx, run_id, form, wrong=str(error))
    return RedirectResponse(f"/runs/{submitted.run_id}" + ("" if submitted.is_new else "?existing=true"), 303)


@router.get("/runs/{run_id}/evaluation")
async def evaluation_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Precision and recall of citations, correctness, completeness, and how far the judge can be trusted."""
    async with ctx.database.connection() as connection:
        report = await evaluation_report(connection, run_id, measures=RetrievalMeasures())
        overview = await overviews.overview(connection, run_id)
    return page(
        request,
        "evaluation.html.j2",
        overview=overview,
        report=report,
        sheet=evaluation_sheet(report),
    )


async def _form(
    request: Request,
    ctx: ApiContext,
    run_id: int,
    form: EvaluationForm,
    *,
    wrong: str | None = None,
    estimated: Estimate | None = None,
) -> Response:
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, run_id)
        found = await evaluations.of_run(connection, run_id)
    return page(
        request,
        "new_evaluation.html.j2",
        status=422 if wrong else 200,
        overview=overview,
        form=form,
        wrong=wrong,
        estimate=estimated,
        evaluations=found,
    )
