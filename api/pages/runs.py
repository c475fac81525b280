"""`/ui/runs`, `/ui/jobs` and `/ui/workers`: runs with their states; a job, from the result back to its inputs."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from markupsafe import Markup
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.answers import answer_html
from api.pages.forms import Part, page_router, possible
from api.parameters import PathId
from api.rendering import page
from schemas.chains import output_of
from schemas.settings.profiles import changed_settings
from schemas.statuses import JobStatus
from schemas.values.base import MAX_ID, Value
from schemas.values.queries import Answer, AugmentedPrompt
from schemas.values.requests import RunKind, RunsWanted
from schemas.values.runs import Target
from services.reports import cost_of_run
from services.runs import Action, control
from stages.reports.costs import cost_words
from stages.reports.tables import UI
from store.corpora import works
from store.questions import answers
from store.runs import jobs, overviews, workers
from store.runs.batches import batches_in_words
from store.runs.notifications import notification_in_words
from store.runs.run_view import run_view, waits_in_words, with_origin
from store.views import JobTrace, job_trace, run_scores, run_state

router = page_router(UI)


@router.get("/workers")
async def workers_page(request: Request, ctx: Context) -> Response:
    """What runs now."""
    return page(request, "workers.html.j2", workers=await ctx.database.once(workers.live))


@router.get("/runs")
async def runs_page(request: Request, ctx: Context, wanted: Annotated[RunsWanted, Query()]) -> Response:
    """The newest runs, of one kind and with the words of a search where these are given, or those before a run."""
    listed = await ctx.database.once(overviews.listed, wanted)
    chosen = wanted.model_dump(exclude_unset=True, exclude={"before"})
    return page(
        request,
        "runs.html.j2",
        runs=listed.items,
        wanted=wanted,
        tabs={one: _address("/runs", **chosen | {"kind": one}) for one in (None, *get_args(RunKind))},
        here=_address("/runs", **chosen, before=wanted.before),
        newest=_address("/runs", **chosen),
        older=listed.next and _address("/runs", **chosen | listed.next),
    )


def _address(path: str, **chosen: Any) -> str:
    query = urlencode({name: value for name, value in chosen.items() if value})
    return f"{UI}{path}" + (f"?{query}" if query else "")


PAGE_JOBS: Final = 50


@router.get("/runs/{run_id}")
async def run_page(
    request: Request, ctx: Context, run_id: PathId, state: JobStatus | None = None, part: Part = 1
) -> Response:
    """A part of the run's jobs, in one state where it is named; failed ones first."""
    async with ctx.database.connection() as connection:
        job_ids = await jobs.most_urgent(
            connection, run_id, status=state, limit=PAGE_JOBS, offset=(part - 1) * PAGE_JOBS
        )
        view = await run_view(connection, run_id, job_ids=job_ids)
        progress = await run_state(connection, run_id)
        view = await with_origin(connection, view)
        overview = view.run
        documents = await works.documents(connection, job_ids) if overview.kind == "work" else {}
        cost = await cost_of_run(connection, run_id, ctx.prices)
        judged = await answers.evaluations(connection, run_id) if overview.kind == "query" else ()
        scores = await run_scores(connection, run_id)
    view.jobs.sort(key=lambda job: job_ids.index(job.job_id))
    count = overview.states.get(state, 0) if state else overview.jobs
    return page(
        request,
        "run.html.j2",
        view=view,
        overview=overview,
        evaluations=judged,
        run=progress,
        changed=changed_settings(overview.profile, view.settings),
        scores=scores,
        cost=list(cost_words(cost)),
        documents=documents,
        possible=possible(overview.states),
        state=state,
        part=part,
        parts_of_list=-(-count // PAGE_JOBS),
        live_address=_address(f"/runs/{run_id}", state=state, part=part if part > 1 else None),
        flower=ctx.flower_url and ctx.flower_url.rstrip("/"),
        waits=[*batches_in_words(view.batches), *waits_in_words(view.jobs)],
        told=None if view.notification is None else notification_in_words(view.notification),
    )


@router.post("/runs/{run_id}/{action}")
async def act_on_run(ctx: Context, run_id: PathId, action: Action) -> Response:
    """Retry, pause, resume or cancel the jobs of a run."""
    await control(ctx.database, Target(run_id, None), action)
    return RedirectResponse(f"{UI}/runs/{run_id}", 303)


@router.get("/jobs/{job_id}")
async def job_page(request: Request, ctx: Context, job_id: PathId) -> Response:
    """The present state of the job."""
    async with ctx.database.connection() as connection:
        job = await job_trace(connection, job_id)
        run = await overviews.get(connection, job.run_id)
        document = (await works.documents(connection, [job_id])).get(job_id)
    outputs = {stage: _output(job, stage) for stage in job.current}
    return page(
        request,
        "job.html.j2",
        job=job,
        run=run,
        document=document,
        outputs=outputs,
        answer=_answer(outputs),
        possible=possible({job.status: 1}),
        flower=ctx.flower_url and ctx.flower_url.rstrip("/"),
    )


@router.post("/jobs/{job_id}/{action}")
async def act_on_job(
    ctx: Context, job_id: PathId, action: Action, back_to_run: Annotated[int | None, Form(ge=1, le=MAX_ID)] = None
) -> Response:
    """Retry, pause, resume or cancel a job, and return to its page, or to that of its run."""
    back_to = f"{UI}/jobs/{job_id}" if back_to_run is None else f"{UI}/runs/{back_to_run}"
    await control(ctx.database, Target(None, job_id), action)
    return RedirectResponse(back_to, 303)


def _answer(outputs: Mapping[str, Value | dict[str, Any]]) -> Markup | None:
    """The answer of a question, with its citations linked to the sources of its prompt below."""
    generated, prompt = outputs.get("generate"), outputs.get("augment")
    if not isinstance(generated, Answer):
        return None
    sources = prompt.sources if isinstance(prompt, AugmentedPrompt) else ()
    return answer_html(generated.response_text, [source.label for source in sources])


def _output(job: JobTrace, stage: str) -> Value | dict[str, Any]:
    """The output of a stage as its value; as plain fields where this version of ragq cannot read it."""
    kept = job.current[stage].output
    assert kept is not None
    value = output_of(job.kind, job.mode, stage)
    if value is None:
        return kept
    try:
        return value.model_validate(kept)
    except ValidationError:
        return kept
