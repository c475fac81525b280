"""The failures of a run, grouped and counted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import (
    FailedAttempt,
    FailureContext,
    FailureCounts,
    FailureList,
    FailureSummary,
    ReportedFailure,
)
from stages.failures import FailureCategory, FailureSeverity
from stages.reports.results import ground_truth

_MOST_FAILING = 10

#: The modes whose jobs have a participant's number as their subject.
_ABOUT_A_PARTICIPANT = frozenset({*AssessmentMode, "references"})

Labels = Mapping[int, Mapping[str, Any] | None]
"""What is stored as the item labels of participants, by their number."""


def failure_list(run_id: int, submitted_at: datetime, failed: Iterable[FailedAttempt], labels: Labels) -> FailureList:
    """Every failure of a run, oldest first, then the labels that are missing or invalid."""
    happened = sorted(failed, key=lambda attempt: (attempt.ended_at, f"j{attempt.job_id}"))
    failures = (*map(_of_attempt, happened), *of_labels(labels))
    counts = _counts(failures)
    by_participant = _counted(str(one.participant_id) for one in failures if one.participant_id is not None)
    summary = FailureSummary(
        **counts,
        run_id=f"r{run_id}",
        start=submitted_at,
        end=max((attempt.ended_at for attempt in happened), default=None),
        unresolved=sum(not failure.context.resolved for failure in failures),
        by_participant=dict(list(by_participant.items())[:_MOST_FAILING]),
        fatal_count=counts["by_severity"].get(FailureSeverity.FATAL, 0),
        error_count=counts["by_severity"].get(FailureSeverity.ERROR, 0),
    )
    return FailureList(summary=summary, failures=failures)


def unresolved_counts(failed: Iterable[FailedAttempt], labels: Labels) -> FailureCounts:
    """Unresolved failures: the last error of each failed job, rejected evidence, and labels that are invalid.

    Errors that a retry has resolved do not count, so that the counts equal those of a run without them.
    """
    unresolved = (attempt for attempt in failed if attempt.is_final or attempt.type is None)
    return FailureCounts(**_counts((*map(_of_attempt, unresolved), *of_labels(labels))))


def _counts(failures: Sequence[ReportedFailure]) -> dict[str, Any]:
    return {
        "total_failures": len(failures),
        "by_category": _counted(failure.category for failure in failures),
        "by_severity": _counted(failure.severity for failure in failures),
        "by_stage": _counted(failure.stage for failure in failures if failure.stage is not None),
    }


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


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda entry: (-entry[1], entry[0])))
