"""How far jobs are: every stage as it stands, and what went wrong last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.statuses import StageStatus
from schemas.values.failures import StageFailure
from store.database import Connection
from store.runs.failures import last_failures
from store.runs.run_view import StageView

STAGES = """
SELECT s.job_id, s.stage, s.status, s.attempts,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds
FROM stage_run AS s WHERE s.job_id = ANY($1::bigint[]) ORDER BY s.job_id, s.position
"""


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """How far a job is."""

    stages: list[StageView]
    error: StageFailure | None
    """The last error of a job that did not succeed."""

    @property
    def done(self) -> int:
        """Stages whose output is stored."""
        return sum(stage.status is StageStatus.DONE for stage in self.stages)

    @property
    def current(self) -> str | None:
        """The first stage that is not done; None when all are."""
        return next((stage.stage for stage in self.stages if stage.status is not StageStatus.DONE), None)

    def is_done(self, stage: str) -> bool:
        """Whether the output of a stage is stored; False for one that the chain does not have."""
        return any(view.stage == stage and view.status is StageStatus.DONE for view in self.stages)


async def progress(connection: Connection, job_ids: Sequence[int]) -> dict[int, JobProgress]:
    """How far each of these jobs is, by id."""
    stages: dict[int, list[StageView]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(STAGES, list(job_ids)):
        stages[row["job_id"]].append(_stage(row))
    failures = await last_failures(connection, job_ids=job_ids)
    return {job_id: JobProgress(stages=of, error=failures.get(job_id)) for job_id, of in stages.items()}


def _stage(row: Mapping[str, Any]) -> StageView:
    return StageView(
        stage=row["stage"], status=StageStatus(row["status"]), attempts=row["attempts"], seconds=row["seconds"]
    )
