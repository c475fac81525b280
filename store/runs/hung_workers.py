"""Workers whose interpreter is blocked, as their watchdogs record them."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from store.database import Connection

# A locked row is being committed or taken back.
HOLD = """
WITH held AS (
    SELECT job_id, stage FROM stage_run WHERE worker_id = $1 AND status = 'running' FOR UPDATE SKIP LOCKED
), renewed AS (
    UPDATE stage_run AS s SET lease_until = now() + $2 * interval '1 second'
    FROM held WHERE s.job_id = held.job_id AND s.stage = held.stage
), seen AS (
    UPDATE worker SET seen_at = now(), hung_since = coalesce(hung_since, now() - $3 * interval '1 second'),
        hung_in = coalesce($4, hung_in)
    WHERE id = $1
)
SELECT job_id, stage FROM held ORDER BY job_id
"""

RECOVERED = "UPDATE worker SET hung_since = NULL, hung_in = NULL WHERE id = $1"

END = """
WITH ended AS (UPDATE worker SET ended = $2 WHERE id = $1)
UPDATE stage_run SET lease_until = now() WHERE worker_id = $1 AND status = 'running'
"""

HUNG = """
SELECT w.host, w.pid, w.hung_in AS place, w.hung_since AS since,
       extract(epoch FROM now() - w.hung_since)::float8 AS hung_for_s,
       array_agg('j' || s.job_id || ' ' || s.stage ORDER BY s.job_id) AS stages
FROM worker AS w JOIN stage_run AS s ON s.worker_id = w.id AND s.status = 'running'
WHERE w.hung_since IS NOT NULL AND w.ended IS NULL AND w.seen_at > now() - interval '10 seconds'
  AND ($1::bigint IS NULL OR EXISTS (SELECT FROM job AS j WHERE j.id = s.job_id AND j.run_id = $1))
GROUP BY w.id ORDER BY w.hung_since
"""

_NAMED = 3

Statement: TypeAlias = Callable[[Connection, str], Awaitable[None]]


class End(StrEnum):
    """How a worker ended that did not say so itself."""

    #: Killed, out of memory, or crashed.
    DIED = "died"
    #: Blocked for longer than RAGQ_HUNG_SECONDS, and killed by its watchdog.
    HUNG = "hung"

    @property
    def words(self) -> str:
        """What happened to its stages."""
        return {
            End.DIED: "died while it ran the stage: it was killed, crashed or had no memory left",
            End.HUNG: "hung for longer than RAGQ_HUNG_SECONDS and was killed",
        }[self]


class HeldStage(NamedTuple):
    """A stage whose lease was renewed."""

    job_id: int
    stage: str


class HungWorker(NamedTuple):
    """A worker whose interpreter is blocked now."""

    host: str
    pid: int
    place: str | None
    """`file:line` of the computation, as far as it is known."""
    since: datetime
    hung_for_s: float
    stages: list[str]
    """`j12 expand`: what it holds; of a run alone, if one was asked for."""

    @property
    def remedy(self) -> str:
        """What becomes of it, and how to end it sooner."""
        return (
            "Its leases are renewed until RAGQ_HUNG_SECONDS; then it is killed and the stages start again. "
            f"`kill -9 {self.pid}` on {self.host} ends it now."
        )

    def __str__(self) -> str:
        more = f" and {len(self.stages) - _NAMED} more" if len(self.stages) > _NAMED else ""
        place = f" ({self.place})" if self.place else ""
        return (
            f"Worker {self.host}:{self.pid} hangs for {self.hung_for_s:.0f} s in "
            f"{', '.join(self.stages[:_NAMED])}{more}{place}. {self.remedy}"
        )


async def hold(
    connection: Connection, worker_id: str, *, lease_s: float, hung_for_s: float, place: str | None
) -> list[HeldStage]:
    """Renew every lease of a worker, and record since when and where it hangs."""
    rows = await connection.fetch(HOLD, worker_id, lease_s, hung_for_s, place)
    return [HeldStage(**dict(row)) for row in rows]


async def recovered(connection: Connection, worker_id: str) -> None:
    """It computes again."""
    await connection.execute(RECOVERED, worker_id)


async def end(connection: Connection, worker_id: str, end: End) -> None:
    """Let the leases of a worker that is gone end now, and record why."""
    await connection.execute(END, worker_id, end.value)


async def hung(connection: Connection, *, run_id: int | None = None) -> list[HungWorker]:
    """The workers that hang now, longest first; with `run_id`, those that hold a stage of the run."""
    return [HungWorker(**dict(row)) for row in await connection.fetch(HUNG, run_id)]
