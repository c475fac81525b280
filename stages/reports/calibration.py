"""Whether confidence means what it says: over all items, and per item."""

from schemas.errors import Refused
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Calibration, Measures
from schemas.values.scoring import ItemScore
from stages.metrics.cohort import Cohort
from stages.metrics.confidence import variant_named
from stages.metrics.reliability import reliability
from stages.metrics.selective import Loss
from stages.reports.selective_prediction import signal_counts

#: Asked when the confidence that was chosen is none in 0..1, as a count of quotes is none.
FALLBACK = "verbalized"


def calibration(cohort: Cohort, *, measures: Measures) -> Calibration | None:
    """Of the chosen confidence when it is one in 0..1, else of what the model said itself.

    None when no scored item has a signal that the confidence is made of: it would be the same for all.
    """
    return _of(cohort, measures.confidence, measures) or _of(cohort, FALLBACK, measures)


def _of(cohort: Cohort, name: str, measures: Measures) -> Calibration | None:
    variant, loss = variant_named(name), Loss(measures.loss)
    counts = signal_counts(cohort)
    if not any(counts[signal] for signal in variant.needs):
        return None
    try:
        return Calibration(
            confidence=name,
            bins=reliability(cohort, confidence=variant.confidence, loss=loss),
            per_item={
                item: reliability(_only(cohort, item), confidence=variant.confidence, bins=1, loss=loss)[0]
                for item in PHQ8Item
            },
        )
    except (ValueError, Refused):
        return None


def _only(cohort: Cohort, item: PHQ8Item) -> Cohort:
    """The cohort as if every other item were N/A."""
    return Cohort(
        tuple(
            subject.model_copy(
                update={"items": {key: score if key is item else ItemScore() for key, score in subject.items.items()}}
            )
            for subject in cohort.subjects
        )
    )
