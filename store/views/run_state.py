"""The state of a run in a few numbers, as it is sent repeatedly while a run is watched."""

from dataclasses import dataclass

from schemas.statuses import JobStatus
from store.database import Connection
from store.references import due_publications
from store.runs import overviews, stage_times


@dataclass(frozen=True, kw_only=True)
class RunState:
    """A run at one moment. The counts of `states` add up to its jobs."""

    run_id: int
    states: dict[JobStatus, int]
    stages_done: int
    stages: int
    seconds_left: float | None
    """What its open jobs still need at the pace of the last minutes; None before any stage, and when idle."""
    is_idle: bool
    """No work is running, and none will start by itself."""


async def run_state(connection: Connection, run_id: int) -> RunState | None:
    """The state of a run; None when there is none of that number."""
    # All of it from one snapshot: a moment later, a run that only has to be published may have a running job again.
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.overview(connection, run_id)
        if overview is None:
            return None
        progress = await stage_times.progress(connection, run_id)
        is_idle = not overview.open_jobs and not await due_publications.is_publication_due(connection, run_id)
    return RunState(
        run_id=run_id,
        states=overview.states,
        stages_done=progress.done,
        stages=progress.stages,
        seconds_left=progress.seconds_left,
        is_idle=is_idle,
    )
