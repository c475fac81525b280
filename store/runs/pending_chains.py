"""What is left to do for a job: the stages that messages have to be sent for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from store.database import Connection

# Jobs come in ascending order, and stages by their key: nothing is compared with the whole list.
NEXT_STAGES = """
SELECT j.id, j.run_id, j.kind, j.subject, s.stage, coalesce(s.queue, s.stage) AS queue, s.attempts,
       CASE WHEN s.not_before > now() THEN s.not_before END AS not_before, s.status = 'ready' AS is_ready
FROM unnest($1::bigint[]) AS n (job_id)
JOIN job AS j ON j.id = n.job_id JOIN stage_run AS s ON s.job_id = j.id
WHERE s.status IN ('ready', 'waiting')
ORDER BY j.id, s.position
"""


class PendingStage(NamedTuple):
    """A stage that a message has to be sent for, with the number its next attempt will have."""

    stage: str
    attempt: int
    queue: str


@dataclass(frozen=True, kw_only=True)
class PendingChain:
    """The stages of a job that are not done, first one first: what a chain is built from."""

    job_id: int
    run_id: int
    kind: str
    subject: str
    stages: list[PendingStage]
    is_ready: bool = field(default=True, compare=False)
    """Its first stage is due; otherwise a worker has the one before."""
    not_before: datetime | None = field(default=None, compare=False)
    """A time ahead until which its first stage waits."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it leads through."""
        return tuple(stage.queue for stage in self.stages)


async def pending_chains(connection: Connection, job_ids: Sequence[int]) -> list[PendingChain]:
    """What is left to do for each job, in the order asked; jobs with nothing left are absent."""
    found: dict[int, PendingChain] = {}
    for row in await connection.fetch(NEXT_STAGES, sorted(set(job_ids))):
        chain = found.get(row["id"])
        if chain is None:
            chain = found[row["id"]] = PendingChain(
                job_id=row["id"],
                run_id=row["run_id"],
                kind=row["kind"],
                subject=row["subject"],
                stages=[],
                is_ready=row["is_ready"],
                not_before=row["not_before"],
            )
        chain.stages.append(PendingStage(row["stage"], row["attempts"] + 1, row["queue"]))
    return [found[job_id] for job_id in dict.fromkeys(job_ids) if job_id in found]
