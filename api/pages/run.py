"""`/runs/{id}`: the progress of a run, its jobs by stages, failures, and times."""

from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.pages.actions import LastAction, Note, act, possible
from api.pages.forms import LimitField, limits_of
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.chains import INDEXING, in_order
from schemas.errors import Refused, RunMissingError
from schemas.settings.changes import changed_settings
from schemas.statuses import JobStatus, Priority
from schemas.values.costs import Prices, RunCost
from schemas.values.figures import ScoreTable
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import ReferenceCounts
from schemas.values.runs import Target
from services.costs import cost_of_run
from services.runs import Action
from services.scorers import run_scores
from stages.reports.costs import cost_words
from stages.reports.reference_counts import over_all_items, reference_counts
from stages.reports.words import asked_for, limits_in_words, notices, origin_words, variants_in_words
from store.corpora import document_lines
from store.corpora.document_lines import DocumentLine
from store.database import Connection
from store.runs import jobs
from store.runs.run_view import RunView, run_view, waits_in_words, with_origin
from store.runs.scored_runs import reference_outputs
from store.runs.stage_times import StageTimes, stage_times, timed_jobs
from store.views.run_state import RunState, run_state

PAGE_JOBS: Final = 50
#: The participants whose scores are shown here; another page has all.
SHOWN_PARTICIPANTS: Final = 12

#: Kinds of runs that have a report.
REPORTED: Final = ("participant", "query")

router = APIRouter(route_class=PageRoute, include_in_schema=False)


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
        live_address=_address(run_id, state, part),
        has_report=overview.kind in REPORTED,
        can_be_forked=overview.kind not in INDEXING,
        flower=_flower(ctx.flower_url, run_id),
        waits=waits_in_words(view.jobs),
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
    limits = limits_of(max_failures, max_llm_calls, max_tokens)
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
        documents=await document_lines.lines(connection, job_ids) if view.overview.kind == "work" else {},
        cost=await cost_of_run(connection, run_id, prices),
        references=references,
    )


def _address(run_id: int, state: JobStatus | None, part: int) -> str:
    chosen: dict[str, Any] = {"state": state, "part": part if part > 1 else None}
    query = "&".join(f"{name}={value}" for name, value in chosen.items() if value is not None)
    return f"/runs/{run_id}" + (f"?{query}" if query else "")


def _flower(flower_url: str | None, run_id: int) -> str | None:
    """Flower's list of the tasks of a run: a search in the parameter `name`, with words separated by blanks."""
    return None if flower_url is None else f"{flower_url.rstrip('/')}/tasks?name=ragq.%20kwargs:run%3D{run_id}"
