"""`/participants`: the newest runs that score participants with their errors, the splits, and the reference indexes."""

import re
from base64 import b64encode
from hashlib import sha256
from secrets import token_urlsafe
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Form, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, WrongField, assigned, filled, form_key
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.authentication import CurrentPrincipal, Principal
from api.security.csrf import csrf
from api.security.headers import CONTENT_SECURITY_POLICY
from schemas.errors import Refused
from schemas.settings.profiles import PROFILES
from schemas.values.base import Text
from schemas.values.estimates import Estimate
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.requests import ParticipantRequest, RunTerms
from schemas.values.runs import RunLimits
from services.estimates import estimate_request
from services.indexes import address
from services.new_runs import Submitted
from services.submit import submit
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


class ParticipantsForm(BaseModel):
    """The form as it was filled in."""

    split: Text = ""
    """Empty for participants by number."""
    participants: Text = ""
    data_set: Text = ""
    """Empty for the only one, or the one that has the participants."""
    references: Text = ""
    """Empty for the index that the settings name."""
    limit: Text = ""
    modes: Literal["both", "few_shot", "zero_shot"] = "both"
    profile: Text = ""
    """Empty for the default of the machine."""
    settings: Typed = ""
    allow_overlap: bool = False
    allow_variant_mismatch: bool = False
    always_new: bool = False
    max_failures: Text = ""
    max_llm_calls: Text = ""
    max_tokens: Text = ""
    check: bool = False
    """Estimate instead of submitting."""
    once: str = ""
    """Generated with the form, so that sending the same form twice submits once."""

    def request(self) -> ParticipantRequest:
        """The request to submit. Raises WrongField."""
        return filled(
            ParticipantRequest,
            data_set=None if self.split else self.data_set,
            split=self.split,
            references=self.references,
            participants=[part.strip() for part in self.participants.split(",") if part.strip()],
            modes=None if self.modes == "both" else [self.modes],
            limit=self.limit.strip(),
            allow_overlap=self.allow_overlap,
            allow_variant_mismatch=self.allow_variant_mismatch,
        )


@router.get("/participants/new")
async def new_page(request: Request, ctx: Context, split: Text = "paper-test") -> Response:
    """The form, with a split chosen."""
    return await _form(request, ctx, ParticipantsForm(split=split, once=token_urlsafe(16)))


@router.post("/participants/new", dependencies=[Depends(csrf)])
async def new(
    request: Request, ctx: Context, principal: CurrentPrincipal, form: Annotated[ParticipantsForm, Form()]
) -> Response:
    """Submit the run, or estimate it, or show what is wrong beside its field."""
    try:
        if form.check:
            return await _form(request, ctx, form, estimate=await _estimate(ctx, form))
        submitted = await _submit(ctx, form, principal)
    except WrongField as error:
        return await _form(request, ctx, form, wrong={error.field: str(error)})
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
    return RedirectResponse(f"/runs/{submitted.run_id}" + ("" if submitted.is_new else "?existing=true"), 303)


async def _submit(ctx: ApiContext, form: ParticipantsForm, principal: Principal) -> Submitted:
    (submitted,) = await submit(
        ctx.database,
        form.request(),
        ctx.run_settings(profile=form.profile or None, values=assigned(form.settings)),
        always_new=form.always_new,
        key=form_key(principal, form.once, "participants", form),
        terms=filled(RunTerms, **form.model_dump(include=set(RunLimits.model_fields))),
    )
    return submitted


async def _estimate(ctx: ApiContext, form: ParticipantsForm) -> Estimate:
    settings = ctx.run_settings(profile=form.profile or None, values=assigned(form.settings))
    return await estimate_request(ctx.database, form.request(), settings, prices=ctx.prices)


async def _form(
    request: Request,
    ctx: ApiContext,
    form: ParticipantsForm,
    *,
    wrong: dict[str, str] | None = None,
    estimate: Estimate | None = None,
) -> Response:
    async with ctx.database.connection() as connection:
        splits = await interviews.split_sizes(connection)
        indexes = await references.current(connection)
    return page(
        request,
        "submit_participants.html.j2",
        status=422 if wrong else 200,
        form=form,
        splits=splits,
        indexes=indexes,
        choices={address(index, indexes): f"{index.name} ({index.source}, {index.variant})" for index in indexes},
        data_sets=list(dict.fromkeys(split.data_set for split in splits)),
        first_index=first_index(splits),
        profiles=list(PROFILES),
        wrong=wrong or {},
        estimate=estimate,
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
