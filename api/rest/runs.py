"""Runs and jobs: what was submitted, its state, every attempt, and actions on it."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints
from starlette.convertors import StringConvertor, register_url_convertor

from api.context import Context
from api.parameters import Body, Keyed, PathId, Reply, SettingsByName, WithSettings, announce, with_example
from schemas.statuses import JobStatus
from schemas.values.base import MAX_ID, Listed, Text
from schemas.values.costs import Estimate
from schemas.values.differences import Comparison, RetrievalMeasures, Verdict
from schemas.values.evaluations import EvaluationReport
from schemas.values.participants import AssessmentMode
from schemas.values.requests import RunChanges, RunsWanted
from schemas.values.runs import RunLimits, SettingValue, Target
from schemas.values.scoring import ScoreTable
from services.evaluations import evaluate, evaluation_report, plan_evaluation
from services.forks import fork
from services.new_runs import Submitted
from services.reports import MOST, compare
from services.runs import Action, ControlResult, change_run, control, delete_run, redo
from services.submit import estimate
from stages.reports.comparison_sheet import condition, gate, passed
from store.runs import attempts, jobs, overviews
from store.runs.attempts import Attempt
from store.runs.deletions import DeletedRun
from store.runs.overviews import RunOverview
from store.runs.run_view import JobView, RunView, job_view, run_view, with_figures, with_origin
from store.views import RunState, run_state, scores_of_run

Limit = Annotated[int, Query(ge=1, le=1000, examples=[20])]
Place = Annotated[int | None, Query(ge=1, le=MAX_ID, examples=[12])]
StageText = Annotated[Text, Field(pattern="^[a-z_]{1,40}$", examples=["rerank"])]


class _ActionConvertor(StringConvertor):
    """An action of an address: of the other addresses below a run or a job, POST is no method."""

    regex = "|".join(Action)


register_url_convertor("action", _ActionConvertor())


class RunReply(RunView):
    """A run with some of its jobs, in the order of submission."""

    settings: dict[str, SettingValue]
    """Every setting that it was submitted with, and its source; empty where they were not asked for."""
    progress: RunState
    next: dict[str, int] | None = Field(examples=[{"after": 34}])
    """The parameter that leads to the next jobs; null after the last."""


class ActionBody(Body, RunLimits):
    """What an action takes: a reason, the stage that a retry begins with, or limits in place of those of the run."""

    model_config = with_example(note="the GPU is needed elsewhere")

    note: Annotated[Text, StringConstraints(max_length=1000)] | None = Field(default=None, repr=False)
    """The reason of `pause` and `cancel`; shown with the jobs."""
    stage: StageText | None = None
    """The first stage that `retry` of a job computes again, also of one that succeeded."""


router = APIRouter(prefix="/runs", tags=["runs"])
jobs_router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get("")
async def list_runs(ctx: Context, wanted: Annotated[RunsWanted, Query()]) -> Listed[RunOverview]:
    """The newest runs, newest first."""
    async with ctx.database.connection() as connection:
        return await with_figures(connection, await overviews.listed(connection, wanted))


@router.get("/{run_id}")
async def show_run(
    run_id: PathId,
    ctx: Context,
    jobs_limit: Limit = 100,
    after: Place = None,
    status: JobStatus | None = None,
    settings: Annotated[bool, Query(description="Include the settings that the run was submitted with.")] = False,
) -> RunReply:
    """A run and its jobs with their stages, in the order of submission; those after job `after`, or in one state."""
    async with ctx.database.connection() as connection:
        state = await run_state(connection, run_id)
        job_ids = await jobs.in_order(connection, run_id, status=status, after=after, limit=jobs_limit)
        view = await run_view(connection, run_id, job_ids=job_ids)
        view = await with_origin(connection, view)
    following = {"after": job_ids[-1]} if len(job_ids) == jobs_limit else None
    shown = vars(view) | {"settings": view.settings if settings else {}}
    return RunReply(**shown, progress=state, next=following)


@router.patch("/{run_id}")
async def patch_run(run_id: PathId, ctx: Context, body: RunChanges) -> RunOverview:
    """Change the name, the note or the priority of a run, or several of them."""
    async with ctx.database.connection() as connection:
        await change_run(connection, run_id, body)
        return await overviews.get(connection, run_id)


@router.delete("/{run_id}")
async def remove_run(run_id: PathId, ctx: Context) -> DeletedRun:
    """Delete a finished run with its jobs and all that they stored, its questions, answers and phrases.

    Model calls that other runs used are kept, and so are reference indexes, vectors and chunk scores that the run
    published. Its forks stay.
    """
    return await ctx.database.once(delete_run, run_id)


@router.post("/{run_id}/{action:action}")
async def act_on_run(run_id: PathId, action: Action, ctx: Context, body: ActionBody | None = None) -> ControlResult:
    """Retry failed jobs, pause unfinished ones, resume paused ones, or cancel both.

    Stored outputs and replies are kept; a stage that is running finishes and is stored.
    """
    asked = body or ActionBody()
    return await control(ctx.database, Target(run_id, None), action, note=asked.note, limits=asked)


@jobs_router.get("/{job_id}")
async def show_job(job_id: PathId, ctx: Context) -> JobView:
    """A job: its state, its stages, what was kept, its calls of models, and its error."""
    return await ctx.database.once(job_view, job_id)


@jobs_router.get("/{job_id}/attempts")
async def list_attempts(
    job_id: PathId,
    ctx: Context,
    stage: StageText | None = None,
    number: Annotated[int | None, Query(ge=1, le=2**31 - 1, examples=[1])] = None,
    outputs: Annotated[
        bool, Query(description="Include outputs, prompts, replies and private details of errors, which contain text.")
    ] = False,
) -> Listed[Attempt]:
    """Every attempt of a job, or of a stage or a number, oldest first, with its calls of language models. Attempts are
    never deleted by themselves."""
    async with ctx.database.connection() as connection:
        await jobs.get(connection, job_id)
        return Listed.whole(await attempts.history(connection, job_id, stage, number=number, with_texts=outputs))


@jobs_router.post("/{job_id}/{action:action}")
async def act_on_job(job_id: PathId, action: Action, ctx: Context, body: ActionBody | None = None) -> ControlResult:
    """As on a run. `retry` with a stage computes it and those after it again, by the settings of the run; what was
    stored stays in its history."""
    asked = body or ActionBody()
    if action is Action.RETRY and asked.stage is not None:
        await redo(ctx.database, job_id, asked.stage)
        return ControlResult(job_ids=[job_id])
    return await control(ctx.database, Target(None, job_id), action, note=asked.note)


class ForkBody(WithSettings):
    """What is computed again, and with which settings."""

    model_config = with_example(stage="rerank", settings={"EMBEDDING_MIN_REFERENCE_SIMILARITY": 0.6})

    stage: StageText
    """The first stage that is computed."""
    settings: SettingsByName = Field(default={})
    """Other values of settings, and of the preset, that this stage or a later one reads."""
    always_new: bool = False
    """Store another fork even if the same one is stored."""


@router.post("/{run_id}/fork", status_code=201, responses={200: {"model": Submitted}})
async def fork_run(run_id: PathId, ctx: Context, body: ForkBody, response: Response, key: Keyed) -> Submitted:
    """Compute a run again from a stage on, with other settings, as a run of its own that copies the stages before.

    Jobs whose earlier stages are not stored are left out, and listed. A setting that an earlier stage reads is refused.
    """
    target, always_new = Target(run_id, None), body.always_new
    forked = await fork(ctx.database, target, body.stage, body.values, always_new=always_new, key=key)
    announce(response, forked)
    return forked


class ComparisonReply(Reply):
    """How runs differ from the first of them."""

    comparisons: list[Comparison]
    """Of participant runs one for each mode that was compared."""
    verdicts: list[Verdict]
    """What the differences say of each condition in `fail_if`."""
    passed: bool | None
    """Every condition is decided, and none is met; null without any."""


FailIf = Annotated[
    list[Annotated[Text, Field(max_length=200)]] | None,
    Query(
        max_length=20,
        description="Conditions that the gate decides by the paired interval, such as `ndcg@10 decreases`",
        examples=[["mae increases"]],
    ),
]


@router.get("/{run_id}/scores")
async def show_scores(run_id: PathId, ctx: Context) -> ScoreTable | EvaluationReport:
    """The eight items of each participant in each mode beside the truth, and the summary of each mode. Of a run that
    evaluates answers: precision and recall of citations, correctness and completeness."""
    async with ctx.database.connection() as connection:
        if (await overviews.get(connection, run_id)).kind == "evaluation":
            return await evaluation_report(connection, run_id, measures=RetrievalMeasures())
        return await scores_of_run(connection, run_id)


Others = Annotated[
    list[Annotated[int, Query(ge=1, le=MAX_ID)]],
    Query(min_length=1, max_length=MOST - 1, description="The runs to compare with it", examples=[[13, 14]]),
]


@router.get("/{run_id}/compare")
async def compare_runs(
    run_id: PathId,
    ctx: Context,
    other: Others,
    mode: AssessmentMode | None = None,
    other_mode: AssessmentMode | None = None,
    fail_if: FailIf = None,
) -> ComparisonReply:
    """Other runs of the kind minus this one, as `ragq diff` prints it: paired differences with 95 % intervals, and with
    intervals that are corrected for the number of runs (Bonferroni).

    Participant runs are compared in each mode that all have, or in `mode`, with `other_mode` of the others.
    """
    asked = [condition(words) for words in fail_if or ()]
    found = await compare(ctx.database, [run_id, *other], mode=mode, other_mode=other_mode)
    verdicts = gate(found, asked)
    return ComparisonReply(comparisons=found, verdicts=verdicts, passed=passed(verdicts) if asked else None)


class EvaluationBody(WithSettings):
    """How the answers of a run are judged: with these values of settings of the judge, by default those of the run."""

    model_config = with_example(settings={"MODEL_JUDGE_MODEL": "gemma3:27b"})

    always_new: bool = False
    """Store another evaluation even if the same one is stored."""
    dry_run: bool = False
    """Reply with the estimate instead; nothing is stored or sent."""


@router.post("/{run_id}/evaluations", status_code=201, responses={200: {"model": Submitted | Estimate}})
async def evaluate_answers(
    run_id: PathId, ctx: Context, body: EvaluationBody, response: Response, key: Keyed
) -> Submitted | Estimate:
    """Judge the newest answer of each question, as a run of its own with one job for each answer."""
    if body.dry_run:
        response.status_code = 200
        plan = partial(plan_evaluation, run_id=run_id, values=body.values)
        return await estimate(ctx.database, plan, ctx.prices)
    found = await evaluate(ctx.database, run_id, body.values, always_new=body.always_new, key=key)
    announce(response, found)
    return found
