"""Runs and jobs retried, paused, resumed and cancelled, alike by commands, REST and pages."""

from enum import StrEnum
from typing import Final, NamedTuple

from celery import Celery

from schemas.errors import ImportedRunError, JobMissingError, NoJobInStateError, RunMissingError
from schemas.statuses import JobStatus
from services.dispatch import enqueue
from stages.failures import FailureCategory
from store.database import Connection, Database
from store.questions import queries
from store.runs import imported, job_control, runs
from store.runs.failures import last_failures
from store.runs.job_control import Target


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
        return _VERBS[self]


_MOST_ADVICE: Final = 5

_VERBS: Final = {
    Action.RETRY: "retried",
    Action.PAUSE: "paused",
    Action.RESUME: "resumed",
    Action.CANCEL: "cancelled",
}


class ControlResult(NamedTuple):
    """What an action changed."""

    job_ids: list[int]
    """The jobs it changed."""
    is_sent: bool
    """Every job that continues has its message; otherwise the broker is unavailable, and the jobs start later."""
    advice: tuple[str, ...] = ()
    """What a retry repeats, and how to run it otherwise."""


async def control(
    app: Celery, database: Database, target: Target, action: Action, *, note: str | None = None
) -> ControlResult:
    """Retry, pause, resume or cancel a run or a job, and send what continues. Pause and cancel store the note.

    Raises RunMissingError or JobMissingError, ImportedRunError for results of another program, and NoJobInStateError
    when it would change nothing.
    """
    async with database.connection() as connection:
        await _refuse_unknown(connection, target)
        imported_run = await imported.imported_run(connection, **target._asdict())
        if imported_run is not None:
            raise ImportedRunError(imported_run, action.verb)
        advice = await _advice(connection, target) if action is Action.RETRY else ()
        job_ids = await _change(connection, target, action, note)
    if not job_ids:
        raise NoJobInStateError(str(target), action.verb)
    if action in (Action.PAUSE, Action.CANCEL):
        return ControlResult(job_ids, True)
    return ControlResult(job_ids, (await enqueue(app, database, job_ids)).is_complete, advice)


async def _advice(connection: Connection, target: Target) -> tuple[str, ...]:
    """For questions that failed because of the values of their preset, which a retry keeps."""
    failures = await last_failures(
        connection, run_id=target.run_id, job_ids=None if target.job_id is None else [target.job_id]
    )
    failed = [job_id for job_id, error in failures.items() if error.category == FailureCategory.NOTHING_RELEVANT]
    found = [query for job_id in failed if (query := await queries.of_job(connection, job_id)) is not None]
    return tuple(
        f"Query {query.id} failed because of its values, which a retry repeats; `ragq query run {query.id} --preset "
        f"NAME` or `ragq query run {query.id} --set NAME=VALUE` runs it with others."
        for query in found[:_MOST_ADVICE]
    )


async def _change(connection: Connection, target: Target, action: Action, note: str | None) -> list[int]:
    chosen = target._asdict()
    match action:
        case Action.RETRY:
            return await job_control.retry(connection, **chosen)
        case Action.RESUME:
            return await job_control.resume(connection, **chosen)
        case Action.PAUSE:
            return await job_control.hold(connection, JobStatus.PAUSED, note, **chosen)
        case Action.CANCEL:
            return await job_control.hold(connection, JobStatus.CANCELLED, note, **chosen)


async def _refuse_unknown(connection: Connection, target: Target) -> None:
    if await runs.exists(connection, **target._asdict()):
        return
    if target.run_id is not None:
        raise RunMissingError(target.run_id)
    assert target.job_id is not None
    raise JobMissingError(target.job_id)
