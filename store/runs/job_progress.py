"""The progress of jobs: the state of every stage, and the last error."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.statuses import StageStatus
from schemas.values.failures import StageFailure
from store.database import Connection
from store.runs import stage_runs
from store.runs.failures import last_failures
from store.runs.stage_runs import StageRun


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """The progress of a job."""

    stages: list[StageRun]
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
    """The progress of each of these jobs, by id."""
    stages = await stage_runs.of_jobs(connection, job_ids)
    failures = await last_failures(connection, job_ids=job_ids)
    return {job_id: JobProgress(stages=of, error=failures.get(job_id)) for job_id, of in stages.items()}
