"""Runs named, annotated, put before others and deleted, alike by commands, REST and pages."""

from enum import StrEnum
from typing import Final

from pydantic import Field

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.requests import RunChanges
from schemas.values.runs import RunLimits, Target
from services.documents import KIND
from store.corpora import works
from store.database import Connection, Database
from store.references import references
from store.runs import backlog, deletions, edits, failures, jobs, runs
from store.runs.deletions import DeletedRun


async def change_run(connection: Connection, run_id: int, changes: RunChanges) -> None:
    """Change name, note and priority of a run, all that is named or nothing. Raises MissingError, and Refused for words
    that cannot be a name, and for a name that is taken."""
    async with connection.transaction():
        await runs.require(connection, run_id)
        if "name" in changes.model_fields_set:
            name = None if changes.name is None else runs.checked(changes.name)
            await runs.rename(connection, run_id, name)
        if "note" in changes.model_fields_set:
            await runs.annotate(connection, run_id, changes.note)
        if "priority" in changes.model_fields_set:
            await backlog.set_priority(connection, run_id, changes.priority)


async def delete_run(connection: Connection, run_id: int) -> DeletedRun:
    """Delete a run with all that is its own; its forks stay. Raises MissingError, and Refused while it works."""
    if await references.is_publication_due(connection, run_id):
        raise deletions.still_active(run_id, "it is about to publish its index; delete it when it has finished.")
    return await deletions.delete_run(connection, run_id)


async def redo(database: Database, job_id: int, stage: str) -> None:
    """Compute a stage of a job and those after it again, with the settings of the run. What was stored stays in its
    history. Raises MissingError, StageRunningError, and Refused for a job that builds an index, and for a stage that
    the job does not have or that is not reached yet."""
    async with database.connection() as connection:
        job = await jobs.get(connection, job_id)
        if job.kind == "index":
            raise Refused(
                f"Job j{job_id} builds a part of an index, which is published as a whole; `ragq index` builds another.",
                slug="fork-refused",
            )
        if job.kind == KIND:
            await works.refuse_replaced(connection, [job.id])
        await edits.redo(connection, job_id, stage)


class Action(StrEnum):
    """What can be done with unfinished jobs."""

    #: Failed and poisoned jobs continue with the stage that failed; what is stored is kept.
    RETRY = "retry"
    #: Unfinished jobs wait until they are resumed; what a worker computes at the moment is still stored.
    PAUSE = "pause"
    #: Paused jobs continue.
    RESUME = "resume"
    #: Unfinished and paused jobs end; what is stored is kept.
    CANCEL = "cancel"

    @property
    def verb(self) -> str:
        """What was done to a job then: `retried`."""
        return {"retry": "retried", "pause": "paused", "resume": "resumed", "cancel": "cancelled"}[self]


NO_LIMITS: Final = RunLimits()


class ControlResult(Value):
    """What an action changed."""

    job_ids: list[int] = Field(examples=[[34]])
    """The jobs it changed."""


async def control(
    database: Database,
    target: Target,
    action: Action,
    *,
    note: str | None = None,
    limits: RunLimits = NO_LIMITS,
    stage: str | None = None,
    error_type: str | None = None,
) -> ControlResult:
    """Retry, pause, resume or cancel a run or a job. Pause and cancel store the note.

    `limits` replace those of the run; its failures are counted anew when jobs continue. Of a run, only jobs that failed
    in `stage` or with `error_type` are retried, where these are named. Raises MissingError, and Refused when nothing
    would change.
    """
    async with database.connection() as connection:
        run_id = await run_of(connection, target)
        if limits.given:
            await backlog.keep(connection, run_id, limits)
        targets = [target]
        if target.run_id is not None and (stage or error_type):
            wanted = await failures.failed_jobs(connection, target.run_id, stage=stage, error_type=error_type)
            targets = [Target(None, job_id) for job_id in wanted]
        job_ids = [job_id for one in targets for job_id in await _change(connection, one, action, note)]
    if not job_ids and not limits.given:
        shown = f"`ragq show {target}`" if target.job_id is None else f"`ragq inspect {target}`"
        raise Refused(
            f"No job of {target} can be {action.verb} in its present state. {shown} shows the state.",
            slug="no-job-in-state",
        )
    return ControlResult(job_ids=job_ids)


async def _change(connection: Connection, target: Target, action: Action, note: str | None) -> list[int]:
    chosen = target._asdict()
    match action:
        case Action.RETRY:
            return await jobs.retry(connection, **chosen)
        case Action.RESUME:
            return await jobs.resume(connection, **chosen)
        case Action.PAUSE:
            return await jobs.hold(connection, JobStatus.PAUSED, note, **chosen)
        case Action.CANCEL:
            return await jobs.hold(connection, JobStatus.CANCELLED, note, **chosen)


async def run_of(connection: Connection, target: Target) -> int:
    """The run of a target. Raises MissingError."""
    if target.job_id is not None:
        return (await jobs.get(connection, target.job_id)).run_id
    assert target.run_id is not None
    await runs.require(connection, target.run_id)
    return target.run_id
