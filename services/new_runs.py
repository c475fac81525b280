"""New runs: stored with what belongs to them. They are due once that is committed, and workers send them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from schemas.errors import OutcomeUnknownError, StackError
from schemas.statuses import Priority
from schemas.values.run_limits import RunLimits
from services.long_transcripts import refuse_long_transcripts
from services.runs import checked_name
from services.served_models import Warn, with_models
from services.worker_servers import check_servers
from stack.environment import this_environment
from stages.reports.run_words import index_in_words, notices
from store.access.idempotency import RequestKey, once
from store.committed import committed
from store.database import DATABASE_ERRORS, Connection, Database
from store.runs import job_control, run_limits, run_names, runs, shares, stored_runs, workers
from store.runs.runs import NewRun, Report, StoredRun, ignored

_AFTERWARDS: Final[tuple[type[BaseException], ...]] = (*DATABASE_ERRORS, OutcomeUnknownError)


class PlannedRun(NamedTuple):
    """A run that is ready to be stored."""

    run: NewRun
    effect: Callable[[Connection, int], Awaitable[None]] | None = None
    """Stores what belongs to a new run, in the same transaction, by the run's id."""
    limits: RunLimits = RunLimits()
    """Those that are set replace those of a run of the same work."""


class Submitted(NamedTuple):
    """What a submission led to."""

    run_id: int
    is_new: bool
    jobs: int
    resumed: int
    """Failed or poisoned jobs of an existing run that continue."""
    notices: tuple[str, ...] = ()
    """Caveats about the results of the run."""
    is_replay: bool = False
    """The request was carried out before under the same key; now nothing was changed."""
    searched: str | None = None
    """The reference index that is searched, in words."""
    other_version: str | None = None
    """The release of ragq that an existing run was submitted with, where it is another: its prompts may differ."""


async def store_run(
    connection: Connection, planned: PlannedRun, *, always_new: bool = False, report: Report = ignored
) -> StoredRun:
    """Store a run with what belongs to it, in one transaction, or find the run of the same work.

    Raises Refused when the running workers ask another language model server than is named here.
    """
    await check_servers(connection, planned.run)
    run = replace(planned.run, environment=this_environment())
    async with connection.transaction():
        stored = await runs.store(connection, run, always_new=always_new, report=report)
        if stored.is_new and planned.effect is not None:
            await planned.effect(connection, stored.run_id)
        await run_limits.keep(connection, stored.run_id, planned.limits)
    return stored


async def submit_run(
    database: Database,
    planned: PlannedRun,
    *,
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    report: Report = ignored,
    warn: Warn | None = None,
) -> Submitted:
    """Store a run; or find the run of the same work, and retry its failed jobs. Both get the name and the priority.

    A new run is held to the language models that their server reports now. A request with a key is carried out once.
    `report` takes how many jobs are written so far. `warn` hears, before anything is stored, of a server of language
    models that does not answer; without it, the notices say so.

    A run that was stored is returned, whatever fails afterwards. Raises OutcomeUnknownError when the database did not
    answer whether it was stored. Before anything is stored it raises Refused for the name, for a key of another
    request, for transcripts that a model cannot read whole, and when the running workers ask other servers; and
    ModelUnavailableError when these could not ask the models of the run.
    """
    async with database.connection() as connection:
        live = await workers.live(connection)
    warnings: list[str] = []
    planned = planned._replace(run=await with_models(planned.run, live, warn=warn or warnings.append))
    async with database.connection() as connection:
        await refuse_long_transcripts(connection, planned.run)

    async def store(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, planned, always_new=always_new, report=report)
        if name is not None:
            await run_names.rename(connection, stored.run_id, checked_name(name))
        if priority is not None:
            await shares.set_priority(connection, stored.run_id, priority)
        resumed = [] if stored.is_new else await job_control.retry(connection, run_id=stored.run_id)
        if resumed:
            await run_limits.forgive_failures(connection, run_id=stored.run_id)
        made = {"run": stored.run_id, "is_new": stored.is_new, "jobs": len(stored.job_ids), "resumed": len(resumed)}
        version = planned.run.version if stored.is_new else await stored_runs.submitted_with(connection, stored.run_id)
        return made if version == planned.run.version else made | {"other_version": version}

    made, is_first = await committed(database, lambda connection: once(connection, key, store))
    run = planned.run
    return Submitted(
        run_id=made["run"],
        is_new=made["is_new"],
        jobs=made["jobs"],
        resumed=made["resumed"],
        is_replay=not is_first,
        searched=index_in_words(run.request) if run.request.get("searched") else None,
        notices=(*warnings, *notices(run.kind, run.profile, run.request)),
        other_version=made.get("other_version"),
    )


@contextmanager
def named_in_errors(run_ids: Sequence[int]) -> Iterator[None]:
    """Raises StackError when the database fails in the block, which follows what stored these runs, if any."""
    try:
        yield
    except _AFTERWARDS as error:
        if not run_ids:
            raise
        runs = ", ".join(f"r{run_id}" for run_id in run_ids)
        raise StackError(
            f"Stored: {runs}; workers take the jobs. After that the database did not answer. The same submission again "
            f"finds what is stored; `ragq show r{run_ids[-1]}` shows it."
        ) from error
