"""The jobs of a run as cohorts of participants for metrics."""

from collections.abc import Iterable

from schemas.values.phq8 import AssessmentMode
from schemas.values.scored_runs import ScoredJob, ScoredRun
from schemas.values.scoring import Subject
from stages.metrics.cohort import Cohort, cohort_of
from stages.reports.ground_truth import ground_truth


def modes_of(run: ScoredRun) -> tuple[AssessmentMode, ...]:
    """The modes of a run's jobs, zero-shot first."""
    present = {job.mode for job in run.jobs}
    return tuple(mode for mode in AssessmentMode if mode in present)


def jobs_of(run: ScoredRun, mode: AssessmentMode) -> tuple[ScoredJob, ...]:
    """The jobs of a mode, ascending by participant, whatever the order of their submission and completion."""
    return tuple(sorted((job for job in run.jobs if job.mode is mode), key=lambda job: job.participant_id))


def cohort_of_jobs(jobs: Iterable[ScoredJob]) -> Cohort:
    """The participants that have scores and ground truth."""
    subjects = []
    for job in jobs:
        truth = ground_truth(job.labels).items
        if job.scores is not None and truth is not None:
            subjects.append(Subject(participant_id=job.participant_id, items=job.scores.items, truth=truth))
    return cohort_of(subjects)
