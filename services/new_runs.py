"""New runs: stored with what belongs to them, and sent once that is committed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from celery import Celery

from services.dispatch import enqueue
from services.runs import checked_name
from services.served_models import with_models
from services.worker_servers import check_servers
from stack.environment import this_environment
from stages.reports.run_words import notices
from store.access.idempotency import RequestKey, once
from store.database import Connection, Database
from store.runs import job_control, run_names, runs, workers
from store.runs.runs import NewRun, StoredRun


class PlannedRun(NamedTuple):
    """A run that is ready to be stored."""

    run: NewRun
    effect: Callable[[Connection, int], Awaitable[None]] | None = None
    """Stores what belongs to a new run, in the same transaction, by the run's id."""


class Submitted(NamedTuple):
    """What a submission led to."""

    run_id: int
    is_new: bool
    jobs: int
    resumed: int
    """Failed or poisoned jobs of an existing run that continue."""
    due: int
    """Jobs whose message had to be sent."""
    sent: int
    """Jobs whose message was sent; fewer than `due` when the broker is unavailable. The reaper sends the rest."""
    notices: tuple[str, ...] = ()
    """Caveats about the results of the run."""
    is_replay: bool = False
    """The request was carried out before under the same key; now nothing was changed or sent."""


async def store_run(connection: Connection, planned: PlannedRun, *, always_new: bool = False) -> StoredRun:
    """Store a run with what belongs to it, in one transaction, or find the run of the same work. Nothing is sent.

    Raises ServersDifferError when the running workers ask another language model server than is named here.
    """
    await check_servers(connection, planned.run)
    run = replace(planned.run, environment=this_environment())
    async with connection.transaction():
        stored = await runs.store(connection, run, always_new=always_new)
        if stored.is_new and planned.effect is not None:
            await planned.effect(connection, stored.run_id)
    return stored


async def submit_run(
    app: Celery,
    database: Database,
    planned: PlannedRun,
    *,
    always_new: bool = False,
    name: str | None = None,
    key: RequestKey | None = None,
) -> Submitted:
    """Store a run and send its jobs; or find the run of the same work, and retry its failed jobs. Both get the name.

    A new run is held to the language models that their server reports now. A request with a key is carried out once.
    Before anything is stored it raises RunValueError and RunNameTakenError for the name, IdempotencyKeyReusedError for
    a key of another request, and ServersDifferError and ModelUnavailableError when the running workers could not ask
    the models of the run.
    """
    async with database.connection() as connection:
        live = await workers.live(connection)
    planned = planned._replace(run=await with_models(planned.run, live))

    async def store(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, planned, always_new=always_new)
        if name is not None:
            await run_names.rename(connection, stored.run_id, checked_name(name))
        resumed = [] if stored.is_new else await job_control.retry(connection, run_id=stored.run_id)
        return {"run": stored.run_id, "is_new": stored.is_new, "jobs": stored.job_ids, "resumed": resumed}

    async with database.connection() as connection, connection.transaction():
        made, is_first = await once(connection, key, store)
    due = made["jobs"] if made["is_new"] else made["resumed"]
    enqueued = await enqueue(app, database, due if is_first else [])
    run = planned.run
    return Submitted(
        run_id=made["run"],
        is_new=made["is_new"],
        jobs=len(made["jobs"]),
        resumed=len(made["resumed"]),
        due=enqueued.due,
        sent=enqueued.sent,
        is_replay=not is_first,
        notices=tuple(notices(run.kind, run.profile, run.request)),
    )
