"""The results of a mode of a run."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import numpy as np

from schemas.values.differences import Measures
from schemas.values.participants import ITEM_SCORES, AssessmentMode, PHQ8Item
from schemas.values.reports import ItemResult, ItemSignals, Results, SubjectResult
from schemas.values.runs import FailedAttempt, ScoredJob, ScoredRun
from schemas.values.scoring import Draw, ItemScore, ModeDraws, ScoreBasis, Spread, Subject
from stages.failures import FailureCategory
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
    per_item,
    prediction_coverage,
    together,
    total_metrics,
    total_rates,
)

_KEYS: Final = {item: item.evidence_key for item in PHQ8Item}


class GroundTruth(NamedTuple):
    """All eight item scores; or None and the problem."""

    items: dict[PHQ8Item, int] | None
    problem: FailureCategory | None = None


def ground_truth(labels: Mapping[str, Any] | None) -> GroundTruth:
    """Stored labels by evidence key as item scores. A label that is missing or outside 0..3 invalidates all eight.

    >>> ground_truth(None).problem.value, ground_truth({"PHQ8_Sleep": 4}).problem.value
    ('ground_truth_missing', 'ground_truth_invalid')
    """
    if labels is None:
        return GroundTruth(None, FailureCategory.GROUND_TRUTH_MISSING)
    items: dict[PHQ8Item, Any] = {item: labels.get(key) for item, key in _KEYS.items()}
    if any(type(score) is not int or score not in ITEM_SCORES for score in items.values()):
        return GroundTruth(None, FailureCategory.GROUND_TRUTH_INVALID)
    return GroundTruth(items)


def subject_result(job: ScoredJob, failed: FailedAttempt | None) -> SubjectResult:
    """The record of a job; `failed` is its final attempt if it failed."""
    truth = ground_truth(job.labels).items
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
    tokens, consistency = item.tokens, item.consistency
    return ItemSignals(
        na_reason=item.na_reason,
        basis=item.basis,
        evidence_source=item.evidence_source,
        llm_evidence_count=item.evidence_count,
        retrieval_reference_count=item.retrieval.count,
        retrieval_similarity_mean=item.retrieval.mean,
        retrieval_similarity_max=item.retrieval.maximum,
        verbalized_confidence=item.confidence,
        token_msp=tokens and tokens.msp,
        token_pe=tokens and tokens.pe,
        token_energy=tokens and tokens.energy,
        consistency_samples=consistency and consistency.samples,
        consistency_modal_score=consistency and consistency.modal_score,
        consistency_modal_count=consistency and consistency.modal_count,
        consistency_modal_confidence=consistency and consistency.modal_confidence,
        consistency_score_std=consistency and consistency.score_std,
        consistency_na_rate=consistency and consistency.na_rate,
        inference_used=item.inference_used,
        inference_type=item.inference_type,
    )


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
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    evaluated = int(np.count_nonzero(cohort.scored_items))
    items = per_item(cohort)
    return Results(
        mode=mode,
        model=next((job.scores.model for job in scored if job.scores), None),
        total_subjects=len(jobs),
        successful_subjects=len(scored),
        failed_subjects=failures,
        unfinished_subjects=len(jobs) - len(scored) - failures,
        excluded_no_evidence=len(cohort) - evaluated,
        excluded_no_ground_truth=sum(ground_truth(job.labels).items is None for job in scored),
        evaluated_subjects=evaluated,
        item_mae_weighted=intervals["item_mae_weighted"].value,
        item_mae_by_item=intervals["item_mae_by_item"].value,
        item_mae_by_subject=intervals["item_mae_by_subject"].value,
        prediction_coverage=intervals["prediction_coverage"].value,
        intervals={name: found for name, found in intervals.items() if not isinstance(name, PHQ8Item)},
        per_item={
            item: ItemResult(
                **items[item].model_dump(),
                mae_interval=intervals[item],
                medians=sum(subject.items[item].basis is ScoreBasis.MEDIAN for subject in cohort.subjects),
            )
            for item in PHQ8Item
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


def item_errors(scores: Mapping[PHQ8Item, int | None] | None, truth: Mapping[PHQ8Item, int] | None) -> list[int]:
    """|score - truth| of the items that have both."""
    if scores is None or truth is None:
        return []
    return [abs(score - truth[item]) for item, score in scores.items() if score is not None]


def _spread(values: Iterable[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    return Spread(mean=fmean(known) if known else None, std=stdev(known) if len(known) > 1 else None)
