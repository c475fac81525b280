"""Times and durations of a run: the only values in which two reports of the same work may differ."""

from collections.abc import Iterable, Sequence

from schemas.values.costs import Prices
from schemas.values.phq8 import AssessmentMode
from schemas.values.reports import JobTimings, ModeTimings, RunTimings, StageTimings
from schemas.values.scored_runs import AttemptTime, CallCount, ScoredJob, ScoredRun
from stages.reports.costs import run_cost, work_of
from stages.reports.results import jobs_of, modes_of


def run_timings(run: ScoredRun, prices: Prices | None = None) -> RunTimings:
    """The times of a run. An attempt that is still running does not count."""
    ends = [attempt.ended_at for attempt in run.attempts if attempt.ended_at is not None]
    return RunTimings(
        submitted_at=run.failures.submitted_at,
        started_at=min((attempt.started_at for attempt in run.attempts), default=None),
        finished_at=max(ends, default=None),
        modes={mode: _of_mode(run, mode) for mode in modes_of(run)},
        jobs=tuple(_of_job(run, job) for mode in modes_of(run) for job in jobs_of(run, mode)),
        cost=run_cost(work_of(run.attempts), run.stage_calls, run.retried, run.copied, prices),
    )


def _of_mode(run: ScoredRun, mode: AssessmentMode) -> ModeTimings:
    ids = {job.job_id for job in jobs_of(run, mode)}
    attempts = [attempt for attempt in run.attempts if attempt.job_id in ids]
    ends = [attempt.ended_at for attempt in attempts if attempt.ended_at is not None]
    calls = _calls(run.calls, ids)
    stages = dict.fromkeys(attempt.stage for attempt in attempts)
    duration = max(ends) - min(attempt.started_at for attempt in attempts) if ends else None
    return ModeTimings(
        total_duration_seconds=None if duration is None else duration.total_seconds(),
        busy_seconds=_seconds(attempts),
        attempts=len(attempts),
        llm_calls_paid=calls.paid,
        llm_calls_reused=calls.reused,
        stages={stage: _of_stage([attempt for attempt in attempts if attempt.stage == stage]) for stage in stages},
    )


def _of_stage(attempts: Sequence[AttemptTime]) -> StageTimings:
    return StageTimings(attempts=len(attempts), seconds=_seconds(attempts))


def _of_job(run: ScoredRun, job: ScoredJob) -> JobTimings:
    attempts = [attempt for attempt in run.attempts if attempt.job_id == job.job_id]
    calls = _calls(run.calls, {job.job_id})
    return JobTimings(
        job=f"j{job.job_id}",
        participant_id=job.participant_id,
        mode=job.mode,
        attempts=len(attempts),
        seconds=_seconds(attempts),
        llm_calls_paid=calls.paid,
        llm_calls_reused=calls.reused,
    )


def _calls(calls: Iterable[CallCount], job_ids: set[int]) -> CallCount:
    own = [call for call in calls if call.job_id in job_ids]
    return CallCount(job_id=0, paid=sum(call.paid for call in own), reused=sum(call.reused for call in own))


def _seconds(attempts: Iterable[AttemptTime]) -> float:
    return sum(
        (attempt.ended_at - attempt.started_at).total_seconds() for attempt in attempts if attempt.ended_at is not None
    )
