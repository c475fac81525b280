"""One participant of a report: scores, bounds and signals beside the truth, without any text of the interview."""

from statistics import fmean

from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import ItemSignals, SubjectResult
from schemas.values.run_failures import FailedAttempt
from schemas.values.scored_runs import ScoredJob
from schemas.values.scoring import ItemScore
from stages.reports.ground_truth import ground_truth


def subject_result(job: ScoredJob, failed: FailedAttempt | None) -> SubjectResult:
    """The record of a job; `failed` is its final attempt if it failed."""
    truth = ground_truth(job.labels).items
    scores = job.scores
    predicted = None if scores is None else {item: scores.items[item].score for item in PHQ8Item}
    totals = None if scores is None else scores.totals
    available = None if predicted is None else sum(score is not None for score in predicted.values())
    return SubjectResult(
        participant_id=job.participant_id,
        success=scores is not None,
        status=job.status,
        error=failed and failed.message,
        error_category=failed and failed.category,
        total_score=totals and totals.minimum,
        min_total_score=totals and totals.minimum,
        max_total_score=totals and totals.maximum,
        severity=totals and totals.severity,
        severity_lower_bound=totals and totals.minimum_severity,
        severity_upper_bound=totals and totals.maximum_severity,
        available_items=available,
        na_items=None if available is None else len(PHQ8Item) - available,
        mae_available=_mae(predicted, truth),
        ground_truth_total=truth and sum(truth.values()),
        ground_truth_items=truth,
        predicted_items=predicted,
        item_signals=scores and {item: item_signals(scores.items[item]) for item in PHQ8Item},
        reasks=scores and len(scores.reasks),
        repairs=scores and len(scores.repairs),
    )


def item_signals(item: ItemScore) -> ItemSignals:
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


def _mae(predicted: dict[PHQ8Item, int | None] | None, truth: dict[PHQ8Item, int] | None) -> float | None:
    if predicted is None or truth is None:
        return None
    errors = [abs(score - truth[item]) for item, score in predicted.items() if score is not None]
    return fmean(errors) if errors else None
