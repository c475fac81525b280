"""The end of a request that waits for its job: the job is done, is still running, or has failed."""

from typing import Any, Final, NamedTuple

from starlette.responses import JSONResponse

from api.context import ApiContext
from api.preferences import WaitPreference
from api.problems import problem_responses
from api.rest.bodies.rag_steps import Started
from api.waiting import wait_until_idle
from schemas.errors import QueryMissingError, Refused, StepFailedError
from schemas.statuses import JobStatus
from store.runs import job_progress, jobs


class Awaited(NamedTuple):
    """A question and the job that a request waits for."""

    query_id: int
    run_id: int
    job_id: int


async def pending_response(
    ctx: ApiContext, asked: Awaited, wait: WaitPreference, *, headers: dict[str, str] | None = None
) -> JSONResponse | None:
    """Wait for a job. None when it is done; else a 202 with the address of the job, for a client that prefers one.

    Raises StepFailedError when a stage of it failed, QueryMissingError when it was deleted, and Refused when it was
    cancelled, and when it is paused and the client has no preference.
    """
    status = await _status(ctx, asked.job_id, wait)
    match status:
        case JobStatus.SUCCEEDED:
            return None
        case JobStatus.FAILED | JobStatus.POISONED:
            raise await _failure(ctx, asked)
        case JobStatus.CANCELLED:
            raise superseded(asked.query_id)
        case None:
            raise QueryMissingError(asked.query_id)
        case JobStatus.PAUSED if wait.seconds is None:
            raise Refused(
                f"Job j{asked.job_id} of query {asked.query_id} is paused; `ragq resume j{asked.job_id}`, or POST "
                f"/jobs/{asked.job_id}/resume, continues the step.",
                slug="step-paused",
            )
    where = f"/jobs/{asked.job_id}"
    is_paused = status is JobStatus.PAUSED
    started = Started(
        **asked._asdict(),
        status=status,
        message=f"Paused; POST {where}/resume continues it." if is_paused else f"Running; {where} shows its progress.",
    )
    all_headers = {"Location": where} | wait.headers | (headers or {})
    return JSONResponse(started.model_dump(mode="json"), status_code=202, headers=all_headers)


def superseded(query_id: int) -> Refused:
    """A question was changed, or its job cancelled, by another request while a step of it was waited for."""
    return Refused(
        f"Query {query_id} was changed or cancelled by another request meanwhile; "
        f"`ragq query show {query_id}` shows its present state.",
        slug="step-superseded",
    )


async def _status(ctx: ApiContext, job_id: int, wait: WaitPreference) -> JobStatus | None:
    if wait.seconds != 0:
        return await wait_until_idle(ctx.database, ctx.changes, job_id, timeout_s=wait.seconds, has_left=wait.has_left)
    async with ctx.database.connection() as connection:
        job = await jobs.job(connection, job_id)
    return None if job is None else job.status


async def _failure(ctx: ApiContext, asked: Awaited) -> StepFailedError | Refused:
    async with ctx.database.connection() as connection:
        error = (await job_progress.progress(connection, [asked.job_id]))[asked.job_id].error
    if error is None:
        # It was retried since.
        return superseded(asked.query_id)
    return StepFailedError(asked.query_id, asked.job_id, error.stage, error.type, error.message)


def step_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The 202 of a step, and the problems that it may return, for its OpenAPI description."""
    return {202: _STARTED} | problem_responses(*statuses)


_STARTED: Final[dict[str, Any]] = {
    "description": "The step is running, and continues without the client; only for a client that sent `Prefer`",
    "model": Started,
    "headers": {
        "Location": {"description": "The job of the step", "schema": {"type": "string"}, "example": "/jobs/34"},
        "Preference-Applied": {
            "description": "The preference that was applied",
            "schema": {"type": "string"},
            "example": "respond-async",
        },
    },
}
