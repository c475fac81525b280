"""Forks: runs and jobs computed again from a stage on."""

from fastapi import APIRouter, Response
from pydantic import Field

from api.context import ApiContext, Context
from api.parameters import PathId
from api.preferences import REPLAYED, Keyed
from api.rest.bodies.base import SettingsByName, WithSettings, with_example
from api.rest.runs import StageText
from schemas.values.runs import Target
from services.forks import Forked, ForkRequest, fork
from store.access import RequestKey

router = APIRouter()


class ForkBody(WithSettings):
    """What is computed again, and with which settings."""

    model_config = with_example(stage="rerank", settings={"EMBEDDING_MIN_REFERENCE_SIMILARITY": 0.6})

    stage: StageText
    """The first stage that is computed."""
    settings: SettingsByName = Field(default={})
    """Other values of settings, and of the preset, that this stage or a later one reads."""
    always_new: bool = False
    """Store another fork even if the same one is stored."""


@router.post("/runs/{run_id}/fork", tags=["runs"], status_code=201, responses={200: {"model": Forked}})
async def fork_run(run_id: PathId, ctx: Context, body: ForkBody, response: Response, key: Keyed) -> Forked:
    """Compute a run again from a stage on, with other settings, as a run of its own that copies the stages before.

    Jobs whose earlier stages are not stored are left out, and listed. A setting that an earlier stage reads is refused.
    """
    return await _fork(ctx, Target(run_id, None), body, response, key)


@router.post("/jobs/{job_id}/fork", status_code=201, responses={200: {"model": Forked}}, tags=["jobs"])
async def fork_job(job_id: PathId, ctx: Context, body: ForkBody, response: Response, key: Keyed) -> Forked:
    """Compute one job again from a stage on, as a run of one job."""
    return await _fork(ctx, Target(None, job_id), body, response, key)


async def _fork(ctx: ApiContext, target: Target, body: ForkBody, response: Response, key: RequestKey | None) -> Forked:
    request = ForkRequest(target=target, stage=body.stage, values=body.values)
    forked = await fork(ctx.database, request, always_new=body.always_new, key=key)
    response.status_code = 201 if forked.is_new else 200
    response.headers["Location"] = f"/runs/{forked.run_id}"
    response.headers.update(REPLAYED if forked.is_replay else {})
    return forked
