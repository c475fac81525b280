"""The failures of a run, grouped and counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
from schemas.values.participants import AssessmentMode, PHQ8Item
from stages.failures import FailureCategory, FailureSeverity
from stages.reports.results import ground_truth

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
