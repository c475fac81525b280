"""What is left to do for a job: the stages that messages have to be sent for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from store.database import Connection

NEXT_STAGES = """
SELECT j.id, j.run_id, j.kind, j.subject, s.stage, s.attempts
FROM unnest($1::bigint[]) WITH ORDINALITY AS n (job_id, ordinal)
JOIN job AS j ON j.id = n.job_id JOIN stage_run AS s ON s.job_id = j.id
WHERE s.status IN ('ready', 'waiting')
ORDER BY n.ordinal, s.position
"""


class PendingStage(NamedTuple):
    """A stage that a message has to be sent for, with the number its next attempt will have."""

    stage: str
    attempt: int


@dataclass(frozen=True, kw_only=True)
class PendingChain:
    """The stages of a job that are not done, first one first: what a chain is built from."""

    job_id: int
    run_id: int
    kind: str
    subject: str
    stages: list[PendingStage]


async def pending_chains(connection: Connection, job_ids: Sequence[int]) -> list[PendingChain]:
    """What is left to do for each job, in the order asked; jobs with nothing left are absent."""
    found: dict[int, PendingChain] = {}
    for row in await connection.fetch(NEXT_STAGES, list(dict.fromkeys(job_ids))):
        chain = found.setdefault(
            row["id"],
            PendingChain(job_id=row["id"], run_id=row["run_id"], kind=row["kind"], subject=row["subject"], stages=[]),
        )
        chain.stages.append(PendingStage(row["stage"], row["attempts"] + 1))
    return list(found.values())
