"""The results of a mode of a run."""

from collections.abc import Mapping, Sequence
from functools import partial

from schemas.statuses import JobStatus
from schemas.values.measures import Measures
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.reports import ItemResult, Results
from schemas.values.run_failures import FailedAttempt
from schemas.values.scored_runs import ScoredJob
from schemas.values.scoring import ScoreBasis
from stages.metrics.binary import accuracy, auroc, f1, precision, recall
from stages.metrics.bootstrap import bootstrap_all
from stages.metrics.coverage import cmax, prediction_coverage
from stages.metrics.draws import Metric, together
from stages.metrics.evaluation import evaluate
from stages.metrics.mae import item_mae_by_item, item_mae_by_subject, item_mae_weighted
from stages.metrics.per_item import item_mae
from stages.metrics.totals import severity_accuracy, total_mae, total_pearson_r, total_rmse
from stages.reports.cohorts import cohort_of_jobs
from stages.reports.ground_truth import ground_truth
from stages.reports.subject_results import subject_result

_FAILED = (JobStatus.FAILED, JobStatus.POISONED)


def results_of(
    mode: AssessmentMode, jobs: Sequence[ScoredJob], failed: Mapping[int, FailedAttempt], *, measures: Measures
) -> Results:
    """The results over the jobs of one mode. `failed` is the final attempt of each failed job, by job."""
    cohort = cohort_of_jobs(jobs)
    scored = [job for job in jobs if job.scores is not None]
    failures = sum(job.status in _FAILED for job in jobs)
    headlines = headline_metrics(measures)
    intervals = bootstrap_all(
        together(headlines | {item: partial(item_mae, item=item) for item in PHQ8Item}),
        cohort,
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    evaluation = evaluate(cohort, min_coverage=measures.total_min_coverage, threshold=measures.binary_threshold)
    return Results(
        mode=mode,
        model=next((job.scores.model for job in scored if job.scores), None),
        total_subjects=len(jobs),
        successful_subjects=len(scored),
        failed_subjects=failures,
        unfinished_subjects=len(jobs) - len(scored) - failures,
        excluded_no_evidence=evaluation.excluded_no_evidence,
        excluded_no_ground_truth=sum(ground_truth(job.labels).items is None for job in scored),
        evaluated_subjects=evaluation.evaluated_subjects,
        item_mae_weighted=evaluation.item_mae_weighted,
        item_mae_by_item=evaluation.item_mae_by_item,
        item_mae_by_subject=evaluation.item_mae_by_subject,
        prediction_coverage=evaluation.prediction_coverage,
        intervals={name: intervals[name] for name in headlines},
        per_item={
            item: ItemResult(
                **evaluation.per_item[item].model_dump(),
                mae_interval=intervals[item],
                medians=sum(subject.items[item].basis is ScoreBasis.MEDIAN for subject in cohort.subjects),
            )
            for item in PHQ8Item
        },
        total_metrics=evaluation.total_metrics,
        binary_metrics=evaluation.binary_metrics,
        results=tuple(subject_result(job, failed.get(job.job_id)) for job in jobs),
    )


def headline_metrics(measures: Measures) -> dict[str, Metric]:
    """The summary metrics of a mode, by name."""
    min_coverage, threshold = measures.total_min_coverage, measures.binary_threshold
    return {
        "item_mae_weighted": item_mae_weighted,
        "item_mae_by_item": item_mae_by_item,
        "item_mae_by_subject": item_mae_by_subject,
        "prediction_coverage": prediction_coverage,
        "cmax": cmax,
        "total_mae": partial(total_mae, min_coverage=min_coverage),
        "total_rmse": partial(total_rmse, min_coverage=min_coverage),
        "total_pearson_r": partial(total_pearson_r, min_coverage=min_coverage),
        "severity_accuracy": partial(severity_accuracy, min_coverage=min_coverage),
        "binary_accuracy": partial(accuracy, threshold=threshold),
        "binary_precision": partial(precision, threshold=threshold),
        "binary_recall": partial(recall, threshold=threshold),
        "binary_f1": partial(f1, threshold=threshold),
        "binary_auroc": partial(auroc, threshold=threshold),
    }
