"""What runs found: the scores of participants, and how two runs differ."""

from typing import Any, Final, Literal

from fastapi import APIRouter

from api.context import Context
from api.parameters import PathId
from api.problems import problem_responses
from api.rest.bodies.base import Reply, with_example
from schemas.values.differences import Difference
from schemas.values.figures import ModeSummary, ParticipantRow
from schemas.values.retrieval_reports import RetrievalDifference
from services.scorers import scores_of_run
from services.several_runs import compare_runs

router = APIRouter(prefix="/runs", tags=["runs"])

Mode = Literal["zero_shot", "few_shot"]


_SIDE: Final[dict[str, Any]] = {"mode": "few_shot", "participants": 41, "notices": [], "origin": {}}


class ScoresReply(Reply):
    """The scores of a participant run."""

    model_config = with_example(
        run_id=12,
        data_set="interviews",
        modes=[
            {"mode": "few_shot", "participants": 41, "scored": 41, "compared": 41, "mae": 0.62, "compared_items": 216}
            | {"na_items": 112, "median_mae": 0.71, "modal_mae": 0.75}
        ],
        participants=[
            {"participant_id": 316, "truth": {"NoInterest": 1}, "truth_total": 6}
            | {
                "modes": {
                    "few_shot": {"job_id": 34, "status": "succeeded", "items": {"NoInterest": 2}, "total": 7}
                    | {"lowest_total": 7, "highest_total": 10, "mae": 0.43}
                }
            }
        ],
    )
    run_id: int
    data_set: str | None
    """Whose participants they are."""
    modes: tuple[ModeSummary, ...]
    """Few-shot first."""
    participants: tuple[ParticipantRow, ...]
    """Ascending by number."""


class Comparison(Reply):
    """How the other run differs from this one."""

    model_config = with_example(
        scores=[
            {"left": {"run_id": "r12", **_SIDE}, "right": {"run_id": "r15", **_SIDE}, "common_participants": 41}
            | {"confidence": "llm", "deltas": {}, "flips": [], "flip_counts": {"lost": 1, "gained": 0, "changed": 2}}
            | {"settings": {"MODEL_TEMPERATURE": {"left": 0.0, "right": 0.5}}}
            | {key: [] for key in ("failed_in_left_only", "failed_in_right_only", "only_in_left", "only_in_right")}
        ],
    )

    scores: list[Difference]
    """Of participant runs, for each mode that was compared."""
    retrieval: RetrievalDifference | None = None
    """Of runs of questions."""


@router.get("/{run_id}/diff/{other_id}", summary="Compare two runs", responses=problem_responses(404, 409, 422))
async def show_difference(
    run_id: PathId, other_id: PathId, ctx: Context, mode: Mode | None = None, other_mode: Mode | None = None
) -> Comparison:
    """The other run minus this one, as `ragq diff` prints it: paired differences with 95 % intervals.

    Participant runs are compared in each mode that both have, or in `mode`, with `other_mode` of the other run.
    """
    found = await compare_runs(ctx.database, f"r{run_id}", f"r{other_id}", mode=mode, other_mode=other_mode)
    return Comparison(
        scores=found if isinstance(found, list) else [],
        retrieval=None if isinstance(found, list) else found,
    )


@router.get("/{run_id}/scores", summary="Show the scores of a run", responses=problem_responses(404, 409, 422))
async def show_scores(run_id: PathId, ctx: Context) -> ScoresReply:
    """The eight items of each participant in each mode beside the truth, and the summary of each mode."""
    async with ctx.database.connection() as connection:
        found = await scores_of_run(connection, run_id)
    return ScoresReply(run_id=found.run_id, data_set=found.data_set, modes=found.modes, participants=found.participants)
