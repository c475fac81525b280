"""`/runs`: the submitted runs, newest first, with their states."""

from typing import Annotated, Any, Final, Literal, NamedTuple, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.forms import LastAction, LimitField, Note, Typed, act, filled, possible
from api.parameters import PathId, SearchWords
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.chains import in_order
from schemas.errors import Refused, RunMissingError
from schemas.settings.changes import changed_settings
from schemas.statuses import JobStatus, Priority
from schemas.values.base import MAX_ID
from schemas.values.estimates import Prices, RunCost
from schemas.values.listings import RunKind
from schemas.values.metrics import ScoreTable
from schemas.values.participants import PHQ8Item
from schemas.values.reports import ReferenceCounts
from schemas.values.runs import RunLimits, Target
from services.costs import cost_of_run
from services.runs import Action, RunChanges, change_run, delete_run
from stages.reports.costs import cost_words
from stages.reports.report import over_all_items, reference_counts
from stages.reports.words import asked_for, limits_in_words, notices, origin_words, variants_in_words
from store.corpora import chunks
from store.corpora.chunks import DocumentLine
from store.database import Connection
from store.runs import jobs, overviews, workers
from store.runs.batches import batches_in_words
from store.runs.notifications import notification_in_words
from store.runs.past_work import StageTimes, stage_times, timed_jobs
from store.runs.run_view import RunView, run_view, waits_in_words, with_origin
from store.runs.scored_runs import reference_outputs
from store.views import RunState, run_scores, run_state

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/workers")
async def workers_page(request: Request, ctx: Context) -> Response:
    """What runs now."""
    async with ctx.database.connection() as connection:
        return page(request, "workers.html.j2", workers=await workers.live(connection))


@router.post("/runs/{run_id}/describe")
async def describe(
    ctx: Context,
    _form: CheckedForm,
    run_id: PathId,
    name: Annotated[Typed, Form(max_length=200)] = "",
    note: Annotated[Typed, Form(max_length=4000)] = "",
    priority: Annotated[Priority | None, Form()] = None,
) -> Response:
    """Store name, note and priority of a run; an empty name or note removes what was there."""
    changes: RunChanges = {"name": name.strip() or None, "note": note.strip() or None}
    if priority is not None:
        changes["priority"] = priority
    async with ctx.database.connection() as connection:
        await change_run(connection, run_id, changes)
    return RedirectResponse(f"/runs/{run_id}?described=true", 303)


@router.post("/runs/{run_id}/delete")
async def delete(ctx: Context, _form: CheckedForm, run_id: PathId) -> Response:
    """Delete a run that is not active, and return to the list."""
    async with ctx.database.connection() as connection:
        done = await delete_run(connection, run_id)
    return RedirectResponse(f"/runs?deleted={done.run_id}", 303)


PAGE_ROWS: Final = 25


@router.get("/runs")
async def runs_page(
    request: Request,
    ctx: Context,
    kind: Literal[""] | RunKind = "",
    search: SearchWords = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    deleted: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    """The newest runs, of one kind and with the words of a search where these are given, or those before a run."""
    async with ctx.database.connection() as connection:
        found = await overviews.overviews(
            connection, limit=PAGE_ROWS + 1, before=before, kind=kind or None, search=search
        )
    shown = found[:PAGE_ROWS]
    return page(
        request,
        "runs.html.j2",
        runs=shown,
        asked={run.id: asked_for(run.request) for run in shown},
        kind=kind,
        search=search,
        before=before,
        tabs={one: _address(kind=one, search=search) for one in ("", *get_args(RunKind))},
        here=_address(kind=kind, search=search, before=before),
        newest=_address(kind=kind, search=search),
        older=_address(kind=kind, search=search, before=shown[-1].id) if len(found) > PAGE_ROWS else None,
        deleted=deleted,
    )


def _address(**chosen: Any) -> str:
    """The list with these parameters; those without a value are left out."""
    query = urlencode({name: value for name, value in chosen.items() if value})
    return "/runs" + (f"?{query}" if query else "")


PAGE_JOBS: Final = 50
#: The participants whose scores are shown here; another page has all.
SHOWN_PARTICIPANTS: Final = 12

#: Kinds of runs that have a report.
REPORTED: Final = ("participant", "query")


class RunPageContent(NamedTuple):
    """The content of the page."""

    view: RunView
    state: RunState
    times: list[StageTimes]
    scores: ScoreTable | None
    """None where no participant is scored."""
    unreadable: str | None
    """Why the scores that are stored cannot be shown."""
    cost: RunCost
    documents: dict[int, DocumentLine]
    """By job; empty for a run of another kind."""
    references: dict[PHQ8Item, ReferenceCounts]
    """Empty until the run has finished, and for a run without references."""


@router.get("/runs/{run_id}")
async def run_page(
    request: Request,
    ctx: Context,
    run_id: PathId,
    last_action: LastAction,
    state: JobStatus | None = None,
    part: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    existing: bool = False,
    described: bool = False,
) -> Response:
    """A part of the run's jobs, in one state where it is named; failed ones first.

    `described` follows a change of name or note, `existing` a submission of work that this run had done before.
    """
    async with ctx.database.connection() as connection:
        found = await _read(connection, run_id, state, part, ctx.prices)
    if found is None:
        raise RunMissingError(run_id)
    view, overview = found.view, found.view.overview
    count = overview.states.get(state, 0) if state else overview.jobs
    return page(
        request,
        "run.html.j2",
        overview=overview,
        asked=asked_for(overview.request),
        variants=variants_in_words(overview.request),
        notices=list(notices(overview.kind, overview.profile, overview.request)),
        origin=list(origin_words(view.origin)),
        family=view.family,
        changed=changed_settings(overview.profile, view.settings),
        settings=view.settings,
        jobs=view.jobs,
        stages=in_order(overview.kind, {stage.stage for job in view.jobs for stage in job.stages}),
        run=found.state,
        times=found.times,
        scores=found.scores,
        unreadable=found.unreadable,
        items=list(PHQ8Item),
        shown_participants=SHOWN_PARTICIPANTS,
        cost=list(cost_words(found.cost)),
        documents=found.documents,
        references=found.references,
        all_references=over_all_items(found.references.values()) if found.references else None,
        timed_jobs=timed_jobs(overview.jobs),
        slowest=max((times.p95 for times in found.times), default=0.0),
        possible=possible(overview.states),
        last_action=last_action,
        existing=existing,
        described=described,
        priorities=list(Priority),
        state=state,
        part=part,
        parts_of_list=-(-count // PAGE_JOBS),
        live_address=_run_address(run_id, state, part),
        has_report=overview.kind in REPORTED,
        can_be_forked=overview.kind != "index",
        flower=_flower(ctx.flower_url, run_id),
        waits=[*(() if view.batches is None else batches_in_words(view.batches)), *waits_in_words(view.jobs)],
        told=None if view.notification is None else notification_in_words(view.notification),
        wrong={},
        limits=view.limits,
        limits_in_words=None if view.limits is None else limits_in_words(view.limits),
    )


@router.post("/runs/{run_id}/{action}")
async def act_on_run(
    ctx: Context,
    _form: CheckedForm,
    run_id: PathId,
    action: Action,
    note: Note = "",
    max_failures: LimitField = "",
    max_llm_calls: LimitField = "",
    max_tokens: LimitField = "",
) -> Response:
    """Retry, pause, resume or cancel the jobs of a run; the limits that are given replace those that it has."""
    limits = filled(RunLimits, max_failures=max_failures, max_llm_calls=max_llm_calls, max_tokens=max_tokens)
    return await act(ctx, Target(run_id, None), action, note, back_to=f"/runs/{run_id}", limits=limits)


async def _read(
    connection: Connection, run_id: int, status: JobStatus | None, part: int, prices: Prices | None
) -> RunPageContent | None:
    offset = (part - 1) * PAGE_JOBS
    job_ids = await jobs.most_urgent(connection, run_id, status=status, limit=PAGE_JOBS, offset=offset)
    view = await run_view(connection, run_id, job_ids=job_ids)
    state = await run_state(connection, run_id)
    if view is None or state is None:
        return None
    place = {job_id: number for number, job_id in enumerate(job_ids)}
    view.jobs.sort(key=lambda job: place[job.job_id])
    references = reference_counts(await reference_outputs(connection, run_id) if state.is_idle else ())
    times = {one.stage: one for one in await stage_times(connection, run_id)}
    view = await with_origin(connection, view)
    scores, unreadable = None, None
    try:
        scores = await run_scores(connection, run_id)
    except Refused as error:
        unreadable = str(error)
    return RunPageContent(
        view=view,
        state=state,
        times=[times[stage] for stage in in_order(view.overview.kind, times)],
        scores=scores,
        unreadable=unreadable,
        documents=await chunks.lines(connection, job_ids) if view.overview.kind == "work" else {},
        cost=await cost_of_run(connection, run_id, prices),
        references=references,
    )


def _run_address(run_id: int, state: JobStatus | None, part: int) -> str:
    chosen: dict[str, Any] = {"state": state, "part": part if part > 1 else None}
    query = "&".join(f"{name}={value}" for name, value in chosen.items() if value is not None)
    return f"/runs/{run_id}" + (f"?{query}" if query else "")


def _flower(flower_url: str | None, run_id: int) -> str | None:
    """Flower's list of the tasks of a run: a search in the parameter `name`, with words separated by blanks."""
    return None if flower_url is None else f"{flower_url.rstrip('/')}/tasks?name=ragq.%20kwargs:run%3D{run_id}"
