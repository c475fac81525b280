"""Calibration of a confidence, over all items and per item."""

import re

from schemas.values.measures import Measures
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Calibration
from schemas.values.scoring import ItemScore
from stages.metrics.cohort import Cohort
from stages.metrics.confidence import Variant, variant_named
from stages.metrics.reliability import reliability
from stages.metrics.selective import Loss
from stages.reports.calibrated import is_calibrated
from stages.reports.selective_prediction import signal_counts

#: Used if the chosen confidence is not in 0..1.
FALLBACK = "verbalized"

_COUNTS = {"llm", "total_evidence"}
"""Counts of quotes: 1 is one quote and not certainty, even if no item has more."""


def calibration(cohort: Cohort, *, variant: Variant, measures: Measures) -> Calibration | None:
    """The calibration of the chosen confidence if it is in 0..1, else of the confidence that the model stated.

    `variant` is what the name of the chosen confidence means. None if no scored item has a signal of the confidence: it
    would be the same for all.
    """
    name, loss = measures.confidence, Loss(measures.loss)
    if _COUNTS & set(re.split("[:+]", name)) and not is_calibrated(name):
        name, variant = FALLBACK, variant_named(FALLBACK)
    counts = signal_counts(cohort)
    if not any(counts[signal] for signal in variant.needs):
        return None

    def confidence(item: ItemScore) -> float:
        # The probabilities of a server may sum to slightly more than 1.
        return min(variant.confidence(item), 1.0)

    return Calibration(
        confidence=name,
        bins=reliability(cohort, confidence=confidence, loss=loss),
        per_item={
            item: reliability(cohort, confidence=confidence, bins=1, loss=loss, only=item)[0] for item in PHQ8Item
        },
    )
