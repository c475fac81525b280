"""Differences between two runs: metrics on common participants, items, settings, failures."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.statuses import JobStatus
from schemas.values.differences import Difference, Flip, FlipKind, Measures, SettingDifference, Side
from schemas.values.failures import (
    FailedAttempt,
    FailureContext,
    FailureCounts,
    FailureList,
    FailureSummary,
    HallucinatedEvidence,
    ReportedFailure,
    RunFailures,
)
from schemas.values.metrics import PairedDelta
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from stages.failures import FailureCategory, FailureSeverity
from stages.metrics.bootstrap import paired_deltas
from stages.metrics.confidence import variant_named
from stages.metrics.scores import Metrics, together
from stages.metrics.selective import Loss, areas
from stages.reports.costs import paired_tokens
from stages.reports.results import cohort_of_jobs, ground_truth, headline_metrics, jobs_of
from stages.reports.words import notices


class RunInMode(NamedTuple):
    """One side of a comparison."""

    run: ScoredRun
    mode: AssessmentMode


def difference(left: RunInMode, right: RunInMode, *, measures: Measures) -> Difference:
    """Right compared with left. Raises Refused for a confidence that a side lacks the signals for."""
    left_jobs, right_jobs = (
        {job.participant_id: job for job in jobs_of(side.run, side.mode)} for side in (left, right)
    )
    both = sorted(left_jobs.keys() & right_jobs.keys())
    scored = [(left_jobs[key], right_jobs[key]) for key in both if left_jobs[key].scores and right_jobs[key].scores]
    flips = tuple(flip for pair in scored for flip in _flips(*pair))
    counts = Counter(flip.kind for flip in flips)
    left_cohort, right_cohort = (cohort_of_jobs(jobs.values()) for jobs in (left_jobs, right_jobs))
    (deltas,) = paired_deltas(
        scored_metrics(measures),
        left_cohort,
        right_cohort,
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return Difference(
        left=_side(left, left_jobs),
        right=_side(right, right_jobs),
        common_participants=len(scored),
        confidence=measures.confidence,
        deltas=deltas,
        tokens=_tokens(left.run, right.run, scored, measures),
        flips=flips,
        flip_counts={kind: counts[kind] for kind in FlipKind},
        settings=setting_differences(left.run.settings, right.run.settings),
        failed_in_left_only=tuple(key for key in both if _failed_alone(left_jobs[key], right_jobs[key])),
        failed_in_right_only=tuple(key for key in both if _failed_alone(right_jobs[key], left_jobs[key])),
        only_in_left=_sorted(left_jobs.keys() - right_jobs.keys()),
        only_in_right=_sorted(right_jobs.keys() - left_jobs.keys()),
    )


def _tokens(
    left: ScoredRun, right: ScoredRun, scored: Sequence[tuple[ScoredJob, ScoredJob]], measures: Measures
) -> PairedDelta:
    delta, before, after = paired_tokens(
        left.stage_calls,
        right.stage_calls,
        [(one.job_id, other.job_id) for one, other in scored],
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return PairedDelta(participants=len(scored), left=before, right=after, delta=delta)


def scored_metrics(measures: Measures) -> Metrics:
    """The metrics that runs are compared in."""
    confidence, loss = variant_named(measures.confidence).confidence, Loss(measures.loss)
    headlines = together(headline_metrics(measures))
    return lambda cohort, draws: {
        **headlines(cohort, draws),
        **areas(cohort, draws, confidence=confidence, loss=loss),
    }


def _side(side: RunInMode, jobs: Mapping[int, ScoredJob]) -> Side:
    return Side(
        run_id=f"r{side.run.run_id}",
        mode=side.mode,
        participants=len(jobs),
        notices=tuple(notices("participant", side.run.profile, side.run.request)),
        origin=side.run.origin,
    )


def _flips(left: ScoredJob, right: ScoredJob) -> Iterator[Flip]:
    assert left.scores is not None and right.scores is not None
    truth = ground_truth(left.labels).items
    for item in PHQ8Item:
        before, after = left.scores.items[item].score, right.scores.items[item].score
        if before == after:
            continue
        true = None if truth is None else truth[item]
        yield Flip(
            participant_id=left.participant_id,
            item=item,
            kind=FlipKind.LOST if after is None else FlipKind.GAINED if before is None else FlipKind.CHANGED,
            left=before,
            right=after,
            truth=true,
            error_change=None
            if before is None or after is None or true is None
            else abs(after - true) - abs(before - true),
        )


def setting_differences(
    left: Mapping[str, SettingValue], right: Mapping[str, SettingValue]
) -> dict[str, SettingDifference]:
    """Settings with different values; their sources are not compared."""
    found = {}
    for name in dict.fromkeys([*left, *right]):
        before, after = (side[name].value if name in side else None for side in (left, right))
        if before != after:
            found[name] = SettingDifference(left=before, right=after)
    return found


def _failed_alone(one: ScoredJob, other: ScoredJob) -> bool:
    return one.status in (JobStatus.FAILED, JobStatus.POISONED) and other.scores is not None


def _sorted(participant_ids: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(participant_ids))


_MOST_FAILING = 10

#: The modes whose jobs have a participant's number as their subject.
_ABOUT_A_PARTICIPANT = frozenset({*AssessmentMode, "references"})

Labels = Mapping[int, Mapping[str, Any] | None]
"""What is stored as the item labels of participants, by their number."""


def failure_list(found: RunFailures, labels: Labels) -> FailureList:
    """Every failure of a run, oldest first, then the labels that are missing or invalid."""
    happened = [*map(_of_attempt, found.failed), *map(_of_extraction, found.hallucinated)]
    times = [failure.timestamp for failure in happened if failure.timestamp is not None]
    happened.sort(key=lambda failure: (failure.timestamp, failure.context.job))
    failures = (*happened, *of_labels(labels))
    by_severity = _counted(failures, lambda failure: failure.severity)
    summary = FailureSummary(
        run_id=f"r{found.run_id}",
        start=found.submitted_at,
        end=max(times, default=None),
        total_failures=len(failures),
        unresolved=sum(not failure.context.resolved for failure in failures),
        by_category=_counted(failures, lambda failure: failure.category),
        by_severity=by_severity,
        by_participant=_most(_counted(failures, lambda failure: _name(failure.participant_id))),
        by_stage=_counted(failures, lambda failure: failure.stage),
        fatal_count=by_severity.get(FailureSeverity.FATAL, 0),
        error_count=by_severity.get(FailureSeverity.ERROR, 0),
    )
    return FailureList(summary=summary, failures=failures)


def unresolved_counts(found: RunFailures, labels: Labels) -> FailureCounts:
    """Unresolved failures: the last error of each failed job, rejected evidence, and labels that are invalid.

    Errors that a retry has resolved do not count, so that the counts equal those of a run without them.
    """
    failures = (
        *(_of_attempt(attempt) for attempt in found.failed if attempt.is_final),
        *map(_of_extraction, found.hallucinated),
        *of_labels(labels),
    )
    return FailureCounts(
        total=len(failures),
        by_category=_counted(failures, lambda failure: failure.category),
        by_severity=_counted(failures, lambda failure: failure.severity),
        by_stage=_counted(failures, lambda failure: failure.stage),
    )


def of_labels(labels: Labels) -> tuple[ReportedFailure, ...]:
    """One failure per participant whose labels are missing or invalid, ascending."""
    problems = {participant_id: ground_truth(labels[participant_id]).problem for participant_id in sorted(labels)}
    return tuple(_of_label(participant_id, problem) for participant_id, problem in problems.items() if problem)


def _of_label(participant_id: int, problem: FailureCategory) -> ReportedFailure:
    what = "no item labels" if problem is FailureCategory.GROUND_TRUTH_MISSING else "item labels that are not 0..3"
    return ReportedFailure(
        category=problem,
        severity=problem.severity,
        message=f"Participant {participant_id} has {what} and is in no metric.",
        participant_id=participant_id,
        phq8_item=None,
        stage=None,
        timestamp=None,
        context=FailureContext(
            job=None, mode=None, subject=str(participant_id), attempt=None, error_type=None, resolved=False
        ),
    )


def _of_attempt(attempt: FailedAttempt) -> ReportedFailure:
    return ReportedFailure(
        category=attempt.category,
        severity=FailureCategory(attempt.category).severity,
        message=attempt.message,
        participant_id=int(attempt.subject) if attempt.mode in _ABOUT_A_PARTICIPANT else None,
        phq8_item=attempt.evidence_key and PHQ8Item.from_evidence_key(attempt.evidence_key).value,
        stage=attempt.stage,
        timestamp=attempt.ended_at,
        context=FailureContext(
            job=f"j{attempt.job_id}",
            mode=attempt.mode,
            subject=attempt.subject,
            attempt=attempt.attempt,
            error_type=attempt.type,
            resolved=attempt.is_resolved,
        ),
    )


def _of_extraction(evidence: HallucinatedEvidence) -> ReportedFailure:
    category = FailureCategory.EVIDENCE_HALLUCINATION
    return ReportedFailure(
        category=category,
        severity=category.severity,
        message=f"None of {evidence.rejected} extracted quotes is in the transcript; the job continued without any.",
        participant_id=int(evidence.subject),
        phq8_item=None,
        stage="extract",
        timestamp=evidence.ended_at,
        context=FailureContext(
            job=f"j{evidence.job_id}",
            mode=evidence.mode,
            subject=evidence.subject,
            attempt=evidence.attempt,
            error_type=None,
            resolved=False,
        ),
    )


def _counted(failures: Iterable[ReportedFailure], name: Callable[[ReportedFailure], str | None]) -> dict[str, int]:
    counts = Counter(found for failure in failures if (found := name(failure)) is not None)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _most(counts: dict[str, int]) -> dict[str, int]:
    return dict(list(counts.items())[:_MOST_FAILING])


def _name(participant_id: int | None) -> str | None:
    return None if participant_id is None else str(participant_id)
