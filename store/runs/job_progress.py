"""How far jobs are: every stage as it stands, and what went wrong last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.statuses import StageStatus
from store.database import Connection
from store.runs.run_view import ErrorView, StageView

STAGES = """
SELECT s.job_id, s.stage, s.status, s.attempts,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds
FROM stage_run AS s WHERE s.job_id = ANY($1::bigint[]) ORDER BY s.job_id, s.position
"""

ERRORS = """
SELECT DISTINCT ON (a.job_id) a.job_id, a.stage, a.number, a.error_type, a.error_message, a.error_category
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.id = ANY($1::bigint[]) AND j.status IN ('failed', 'poisoned', 'interrupted') AND a.error_type IS NOT NULL
ORDER BY a.job_id, a.id DESC
"""


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """How far a job is."""

    stages: list[StageView]
    error: ErrorView | None
    """The last error of a job that did not get through."""

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
    errors = {row["job_id"]: ErrorView.of_attempt(row) for row in await connection.fetch(ERRORS, list(job_ids))}
    return {job_id: JobProgress(stages=of, error=errors.get(job_id)) for job_id, of in stages.items()}


def _stage(row: Mapping[str, Any]) -> StageView:
    return StageView(
        stage=row["stage"], status=StageStatus(row["status"]), attempts=row["attempts"], seconds=row["seconds"]
    )
