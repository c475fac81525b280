"""Whose turn comes how often: the priority of runs, and their shares of the workers."""

from collections import defaultdict
from dataclasses import dataclass

from schemas.chains import INDEXING
from schemas.statuses import Priority
from store.database import Connection
from store.runs import backlog

SET_PRIORITY = f"UPDATE run SET priority = $2 WHERE id = $1 RETURNING pg_notify('{backlog.CHANNEL}', id::text)"


@dataclass(frozen=True)
class Share:
    """The place of a run among those that wait for the same workers: indexing, or other work."""

    position: int
    """From 1: by priority, and the oldest first."""
    runs: int
    """How many take turns."""
    share: float
    """Of the jobs that are sent."""

    def __str__(self) -> str:
        return f"{self.position} of {self.runs}, {self.share:.0%}"


async def set_priority(connection: Connection, run_id: int, priority: Priority) -> None:
    """Change how often the jobs of a run that are not sent yet have a turn."""
    await connection.execute(SET_PRIORITY, run_id, priority)


async def shares(connection: Connection) -> dict[int, Share]:
    """The shares of the runs that have jobs in the backlog."""
    groups: dict[bool, dict[int, int]] = defaultdict(dict)
    for flow, of in (await backlog.flows(connection)).items():
        weights = groups[of.kind in INDEXING]
        weights[flow.run_id] = max(weights.get(flow.run_id, 0), of.priority.weight)
    return {
        run_id: Share(position, len(weights), weights[run_id] / sum(weights.values()))
        for weights in groups.values()
        for position, run_id in enumerate(sorted(weights, key=lambda run_id: (-weights[run_id], run_id)), start=1)
    }
