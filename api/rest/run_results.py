"""What runs found: the scores of participants, and how runs differ."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from starlette.responses import PlainTextResponse

from api.context import Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed
from api.rest.bodies.base import Reply, SettingsByName, WithSettings, with_example
from schemas.values.base import MAX_ID, Text
from schemas.values.differences import Comparison, Gate, RetrievalMeasures
from schemas.values.estimates import Estimate
from schemas.values.evaluations import EvaluationReport
from schemas.values.scoring import ScoreTable
from services.comparisons import MOST, compare
from services.estimates import estimate
from services.evaluations import evaluate, evaluation_report, plan_evaluation
from services.new_runs import Submitted
from stages.reports.comparison_sheet import comparison_sheet, condition, gate
from stages.reports.tables import as_csv
from store.database import Connection
from store.runs.runs import NewRun
from store.views import scores_of_run

router = APIRouter(prefix="/runs", tags=["runs"])

Mode = Literal["zero_shot", "few_shot"]


class ComparisonReply(Reply):
    """How runs differ from the first of them."""

    comparisons: list[Comparison]
    """Of participant runs one for each mode that was compared."""
    gate: Gate | None = None
    """What the differences say of the conditions in `fail_if`; null without any."""


FailIf = Annotated[
    list[Annotated[Text, Field(max_length=200)]] | None,
    Query(
        max_length=20,
        description="Conditions that the gate decides by the paired interval, such as `ndcg@10 decreases`",
        examples=[["mae increases"]],
    ),
]


@router.get("/{run_id}/scores")
async def show_scores(run_id: PathId, ctx: Context) -> ScoreTable:
    """The eight items of each participant in each mode beside the truth, and the summary of each mode."""
    return await ctx.database.once(scores_of_run, run_id)


comparisons_router = APIRouter(tags=["runs"])

Others = Annotated[
    list[Annotated[int, Query(ge=1, le=MAX_ID)]],
    Query(min_length=1, max_length=MOST - 1, description="The runs to compare with it", examples=[[13, 14]]),
]
Split = Annotated[
    Text | None, Query(max_length=100, description="Compare on the participants of this split alone", examples=[None])
]


@comparisons_router.get("/runs/{run_id}/compare")
async def compare_runs(
    run_id: PathId,
    ctx: Context,
    other: Others,
    split: Split = None,
    mode: Mode | None = None,
    other_mode: Mode | None = None,
    fail_if: FailIf = None,
) -> ComparisonReply:
    """Other runs of the kind minus this one, as `ragq diff` prints it: paired differences with 95 % intervals, and with
    intervals that are corrected for the number of runs (Bonferroni).

    Participant runs are compared in each mode that all have, or in `mode`, with `other_mode` of the others.
    """
    asked = [condition(words) for words in fail_if or ()]
    found = await compare(ctx.database, [run_id, *other], mode=mode, other_mode=other_mode, split=split)
    return ComparisonReply(comparisons=found, gate=gate(found, asked) if asked else None)


@comparisons_router.get("/runs/{run_id}/compare.csv", response_class=PlainTextResponse)
async def compare_csv(run_id: PathId, ctx: Context, other: Others, split: Split = None) -> PlainTextResponse:
    """The same, a number a row."""
    found = await compare(ctx.database, [run_id, *other], split=split)
    return PlainTextResponse(as_csv(map(comparison_sheet, found)), media_type="text/csv")


class EvaluationBody(WithSettings):
    """How the answers of a run are judged."""

    model_config = with_example(settings={"MODEL_JUDGE_MODEL": "gemma3:27b"})

    settings: SettingsByName = Field(default={})
    """Other values of settings of the judge; by default those of the run."""
    always_new: bool = False
    """Store another evaluation even if the same one is stored."""
    dry_run: bool = False
    """Reply with the estimate instead; nothing is stored or sent."""


@router.post("/{run_id}/evaluations", status_code=201, responses={200: {"model": Submitted | Estimate}})
async def evaluate_answers(
    run_id: PathId, ctx: Context, body: EvaluationBody, response: Response, key: Keyed
) -> Submitted | Estimate:
    """Judge the newest answer of each question, as a run of its own with one job for each answer."""

    async def plan(connection: Connection) -> NewRun:
        return (await plan_evaluation(connection, run_id, body.values)).planned.run

    if body.dry_run:
        response.status_code = 200
        return await estimate(ctx.database, plan, prices=ctx.prices)
    found = await evaluate(ctx.database, run_id, body.values, always_new=body.always_new, key=key)
    response.status_code = 201 if found.is_new else 200
    response.headers["Location"] = f"/runs/{found.run_id}"
    response.headers.update(REPLAYED if found.is_replay else {})
    return found


@router.get("/{run_id}/evaluation")
async def show_evaluation(run_id: PathId, ctx: Context) -> EvaluationReport:
    """Precision and recall of citations, correctness and completeness, by a run that evaluates answers."""
    return await ctx.database.once(evaluation_report, run_id, measures=RetrievalMeasures())
