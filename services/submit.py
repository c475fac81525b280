"""Stores a run and sends its chains; or finds the run that did the same work before, and lets it go on."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from celery import Celery

from services.planned import Planned
from store.database import Connection
from store.runs import job_control, pending_chains, runs
from store.runs.runs import NewRun, StoredRun
from workers.messages import send


class Submitted(NamedTuple):
    """What became of a submission."""

    run_id: int
    is_new: bool
    jobs: int
    resumed: int
    """Failed or poisoned jobs of a found run that go on now."""
    due: int
    """Jobs whose message had to be sent."""
    sent: int
    """Those it was sent for; fewer than `due` when the broker is away. Nothing is lost then: the reaper sends it."""


async def submit(
    connection: Connection,
    app: Celery,
    run: NewRun,
    *,
    always_new: bool = False,
    effect: Callable[[Connection, int], Awaitable[None]] | None = None,
) -> Submitted:
    """Store and send a run. `effect` stores what belongs to a new run, in the same transaction, by its id."""
    async with connection.transaction():
        stored = await keep(connection, Planned(run, effect), always_new=always_new)
        resumed = [] if stored.is_new else await job_control.retry(connection, run_id=stored.run_id)
    due = stored.job_ids if stored.is_new else resumed
    sent = send(app, await pending_chains.pending_chains(connection, due))
    return Submitted(stored.run_id, stored.is_new, len(stored.job_ids), len(resumed), len(due), sent)


async def keep(connection: Connection, planned: Planned, *, always_new: bool = False) -> StoredRun:
    """Store a run with what belongs to it, in one transaction; nothing is sent. Or find the run that did the same."""
    async with connection.transaction():
        stored = await runs.store(connection, planned.run, always_new=always_new)
        if stored.is_new and planned.effect is not None:
            await planned.effect(connection, stored.run_id)
    return stored
