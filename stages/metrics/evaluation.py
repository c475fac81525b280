"""All metrics of one mode of a run, for a report."""

import numpy as np

from schemas.values.metrics import Evaluation
from stages.metrics.binary import THRESHOLD, binary_metrics
from stages.metrics.cohort import Cohort
from stages.metrics.coverage import prediction_coverage
from stages.metrics.draws import value_of
from stages.metrics.mae import item_mae_by_item, item_mae_by_subject, item_mae_weighted
from stages.metrics.per_item import per_item
from stages.metrics.totals import MIN_COVERAGE, total_metrics


def evaluate(
    cohort: Cohort, *, failed_subjects: int = 0, min_coverage: float = MIN_COVERAGE, threshold: int = THRESHOLD
) -> Evaluation:
    """The metrics over the successful participants; failed ones are only counted."""
    evaluated = int(np.count_nonzero(cohort.scored_items))
    return Evaluation(
        total_subjects=len(cohort) + failed_subjects,
        successful_subjects=len(cohort),
        failed_subjects=failed_subjects,
        excluded_no_evidence=len(cohort) - evaluated,
        evaluated_subjects=evaluated,
        item_mae_weighted=value_of(item_mae_weighted, cohort),
        item_mae_by_item=value_of(item_mae_by_item, cohort),
        item_mae_by_subject=value_of(item_mae_by_subject, cohort),
        prediction_coverage=value_of(prediction_coverage, cohort),
        per_item=per_item(cohort),
        total_metrics=total_metrics(cohort, min_coverage=min_coverage),
        binary_metrics=binary_metrics(cohort, threshold=threshold),
    )
