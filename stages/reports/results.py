"""The results of a mode of a run, and its failures, grouped and counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from statistics import fmean, stdev
from typing import Any

import numpy as np

from schemas.errors import FailureCategory, FailureSeverity
from schemas.values.differences import Measures
from schemas.values.participants import ITEMS_BY_KEY, AssessmentMode, PHQ8Item
from schemas.values.reports import ItemResult, ItemSignals, Results, SubjectResult
from schemas.values.runs import FailedAttempt, FailureCounts, FailureSummary, ReportedFailure, ScoredJob
from schemas.values.scoring import Draw, ItemScore, ModeDraws, ScoreBasis, Subject, ground_truth, item_errors
from stages.metrics.bootstrap import bootstrap_all
from stages.metrics.scores import (
    Cohort,
    Draws,
    Floats,
    Metrics,
    binary_metrics,
    binary_rates,
    cmax,
    cohort_of,
    item_mae,
    item_mae_by_item,
    item_mae_by_subject,
    item_mae_weighted,
    prediction_coverage,
    together,
    total_metrics,
    total_rates,
)


def subject_result(job: ScoredJob, failed: FailedAttempt | None) -> SubjectResult:
    """The record of a job; `failed` is its final attempt if it failed."""
    truth = ground_truth(job.labels)
    scores = job.scores
    predicted = None if scores is None else {item: scores.items[item].score for item in PHQ8Item}
    errors = item_errors(predicted, truth)
    available = None if predicted is None else sum(score is not None for score in predicted.values())
    return SubjectResult(
        participant_id=job.participant_id,
        success=scores is not None,
        status=job.status,
        error=failed and failed.message,
        error_category=failed and failed.category,
        totals=scores and scores.totals,
        available_items=available,
        na_items=None if available is None else len(PHQ8Item) - available,
        mae_available=fmean(errors) if errors else None,
        ground_truth_total=truth and sum(truth.values()),
        ground_truth_items=truth,
        predicted_items=predicted,
        item_signals=scores and {item: _signals(scores.items[item]) for item in PHQ8Item},
        reasks=scores and len(scores.reasks),
        repairs=scores and len(scores.repairs),
    )


def _signals(item: ItemScore) -> ItemSignals:
    """The signals of a score. Evidence, reason and marker are omitted because they quote the interview."""
    return ItemSignals(
        na_reason=item.na_reason,
        basis=item.basis,
        evidence_source=item.evidence_source,
        llm_evidence_count=item.evidence_count,
        retrieval_reference_count=item.retrieval.count,
        retrieval_similarity_mean=item.retrieval.mean,
        retrieval_similarity_max=item.retrieval.maximum,
        verbalized_confidence=item.confidence,
        inference_used=item.inference_used,
        inference_type=item.inference_type,
        **{f"token_{name}": value for name, value in item.tokens or ()},
        **{f"consistency_{name}": value for name, value in item.consistency or ()},
    )


def cohort_of_jobs(jobs: Iterable[ScoredJob]) -> Cohort:
    """The participants that have scores and ground truth."""
    subjects = []
    for job in jobs:
        truth = ground_truth(job.labels)
        if job.scores is not None and truth is not None:
            subjects.append(Subject(participant_id=job.participant_id, items=job.scores.items, truth=truth))
    return cohort_of(subjects)


def results_of(
    mode: AssessmentMode, jobs: Sequence[ScoredJob], failed: Mapping[int, FailedAttempt], *, measures: Measures
) -> Results:
    """The results over the jobs of one mode. `failed` is the final attempt of each failed job, by job."""
    cohort = cohort_of_jobs(jobs)
    scored = [job for job in jobs if job.scores is not None]
    failures = sum(job.status.has_failed for job in jobs)
    headlines = headline_metrics(measures)
    of_items = together({item: partial(item_mae, item=item) for item in PHQ8Item})
    intervals = bootstrap_all(
        lambda cohort, draws: {**headlines(cohort, draws), **of_items(cohort, draws)},
        cohort,
        measures,
    )
    evaluated = int(np.count_nonzero(cohort.scored_items))
    counts = dict(zip(PHQ8Item, cohort.is_scored.sum(axis=0).tolist(), strict=True))
    return Results(
        mode=mode,
        model=next((job.scores.model for job in scored if job.scores), None),
        total_subjects=len(jobs),
        successful_subjects=len(scored),
        failed_subjects=failures,
        unfinished_subjects=len(jobs) - len(scored) - failures,
        excluded_no_evidence=len(cohort) - evaluated,
        excluded_no_ground_truth=sum(ground_truth(job.labels) is None for job in scored),
        evaluated_subjects=evaluated,
        item_mae_weighted=intervals["item_mae_weighted"].value,
        item_mae_by_item=intervals["item_mae_by_item"].value,
        item_mae_by_subject=intervals["item_mae_by_subject"].value,
        prediction_coverage=intervals["prediction_coverage"].value,
        intervals={name: found for name, found in intervals.items() if not isinstance(name, PHQ8Item)},
        per_item={
            item: ItemResult(
                mae=intervals[item].value,
                count=count,
                coverage=count / evaluated if evaluated else None,
                na_count=evaluated - count,
                mae_interval=intervals[item],
                medians=sum(subject.items[item].basis is ScoreBasis.MEDIAN for subject in cohort.subjects),
            )
            for item, count in counts.items()
        },
        total_metrics=total_metrics(cohort, min_coverage=measures.total_min_coverage),
        binary_metrics=binary_metrics(cohort, threshold=measures.binary_threshold),
        results=tuple(subject_result(job, failed.get(job.job_id)) for job in jobs),
    )


def headline_metrics(measures: Measures) -> Metrics:
    """The summary metrics of a mode."""
    items = together(
        {
            "item_mae_weighted": item_mae_weighted,
            "item_mae_by_item": item_mae_by_item,
            "item_mae_by_subject": item_mae_by_subject,
            "prediction_coverage": prediction_coverage,
            "cmax": cmax,
        }
    )

    def metrics(cohort: Cohort, draws: Draws) -> dict[str, Floats]:
        totals = total_rates(cohort, draws, min_coverage=measures.total_min_coverage)
        binary = binary_rates(cohort, draws, threshold=measures.binary_threshold)
        return {
            **items(cohort, draws),
            **{f"total_{name}": totals[name] for name in ("mae", "rmse", "pearson_r")},
            "severity_accuracy": totals["severity_accuracy"],
            **{f"binary_{name}": rates for name, rates in binary.items() if name != "coverage"},
        }

    return metrics


def draws_of(siblings: Sequence[Draw]) -> tuple[ModeDraws, ...]:
    """The draws of each mode; nothing for a run without siblings."""
    if len({one.draw for one in siblings}) < 2:
        return ()
    ordered = sorted(siblings, key=lambda one: one.draw)
    by_mode = {mode: tuple(one for one in ordered if one.mode is mode) for mode in AssessmentMode}
    return tuple(
        ModeDraws(
            mode=mode,
            draws=draws,
            item_mae_weighted=_spread([one.item_mae_weighted for one in draws]),
            prediction_coverage=_spread([one.prediction_coverage for one in draws]),
        )
        for mode, draws in by_mode.items()
        if draws
    )


def _spread(values: Iterable[float | None]) -> dict[str, float | None]:
    known = [value for value in values if value is not None]
    return {"mean": fmean(known) if known else None, "std": stdev(known) if len(known) > 1 else None}


_MOST_FAILING = 10

#: The modes whose jobs have a participant's number as their subject.
_ABOUT_A_PARTICIPANT = frozenset({*AssessmentMode, "references"})

Labels = Mapping[int, Mapping[str, Any] | None]
"""What is stored as the item labels of participants, by their number."""


def failure_list(
    run_id: int, submitted_at: datetime, failed: Iterable[FailedAttempt], labels: Labels
) -> tuple[FailureSummary, list[ReportedFailure]]:
    """All failures of a run counted; and each, oldest first, then the labels that are missing or invalid."""
    happened = sorted(failed, key=lambda attempt: (attempt.ended_at, f"j{attempt.job_id}"))
    failures = [*map(_of_attempt, happened), *_of_labels(labels)]
    counts = _counts(failures)
    by_participant = _counted(str(one.participant_id) for one in failures if one.participant_id is not None)
    summary = FailureSummary(
        **counts,
        run_id=f"r{run_id}",
        start=submitted_at,
        end=max((attempt.ended_at for attempt in happened), default=None),
        unresolved=sum(not failure.context["resolved"] for failure in failures),
        by_participant=dict(list(by_participant.items())[:_MOST_FAILING]),
        fatal_count=counts["by_severity"].get(FailureSeverity.FATAL, 0),
        error_count=counts["by_severity"].get(FailureSeverity.ERROR, 0),
    )
    return summary, failures


def unresolved_counts(failed: Iterable[FailedAttempt], labels: Labels) -> FailureCounts:
    """Unresolved failures: the last error of each failed job, rejected evidence, and labels that are invalid. Errors
    that a retry has resolved do not count, so that the counts equal those of a run without them."""
    unresolved = (attempt for attempt in failed if attempt.is_final or attempt.type is None)
    return FailureCounts(**_counts((*map(_of_attempt, unresolved), *_of_labels(labels))))


def _counts(failures: Sequence[ReportedFailure]) -> dict[str, Any]:
    return {
        "total_failures": len(failures),
        "by_category": _counted(failure.category for failure in failures),
        "by_severity": _counted(failure.severity for failure in failures),
        "by_stage": _counted(failure.stage for failure in failures if failure.stage is not None),
    }


def _of_labels(labels: Labels) -> Iterator[ReportedFailure]:
    """One failure per participant whose labels are missing or invalid, ascending."""
    for participant_id in sorted(labels):
        if ground_truth(labels[participant_id]) is not None:
            continue
        is_missing = labels[participant_id] is None
        category = FailureCategory.GROUND_TRUTH_MISSING if is_missing else FailureCategory.GROUND_TRUTH_INVALID
        what = "no item labels" if is_missing else "item labels that are not 0..3"
        yield ReportedFailure(
            category=category,
            severity=category.severity,
            message=f"Participant {participant_id} has {what} and is in no metric.",
            participant_id=participant_id,
            phq8_item=None,
            stage=None,
            timestamp=None,
            context={"subject": str(participant_id), "resolved": False},
        )


def _of_attempt(attempt: FailedAttempt) -> ReportedFailure:
    return ReportedFailure(
        category=attempt.category,
        severity=FailureCategory(attempt.category).severity,
        message=attempt.message,
        participant_id=int(attempt.subject) if attempt.mode in _ABOUT_A_PARTICIPANT else None,
        phq8_item=attempt.evidence_key and ITEMS_BY_KEY[attempt.evidence_key].value,
        stage=attempt.stage,
        timestamp=attempt.ended_at,
        context={
            "subject": attempt.subject,
            "job": f"j{attempt.job_id}",
            "mode": attempt.mode,
            "attempt": attempt.attempt,
            "error_type": attempt.type,
            "resolved": attempt.is_resolved,
        },
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda entry: (-entry[1], entry[0])))
