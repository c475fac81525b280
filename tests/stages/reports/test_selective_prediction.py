"""Selective prediction in a report."""

from schemas.values.differences import Measures
from stages.metrics.confidence import Variant, evidence_count
from stages.metrics.scores import cohort_of
from stages.metrics.selective import risk_coverage_curve
from stages.reports.calibration import selective_prediction
from tests.stages.metrics.builders import random_subjects

MEASURES = Measures(bootstrap_resamples=20)


def test_a_short_curve_has_its_band_at_each_step_and_each_percent() -> None:
    cohort = cohort_of(random_subjects(20, seed=1, na_share=0.3))
    steps = {point.coverage for point in risk_coverage_curve(cohort, confidence=evidence_count)}

    found = selective_prediction(cohort, variant=Variant(evidence_count, frozenset()), measures=MEASURES)

    end = max(steps)
    percents = {percent / 100 for percent in range(1, 101) if percent / 100 <= end}
    assert [point.coverage for point in found.chosen.band] == sorted(steps | percents)


def test_a_long_curve_has_its_band_at_each_percent_and_at_its_end() -> None:
    cohort = cohort_of(random_subjects(20, seed=1, na_share=0.3))
    items = [item for subject in cohort.subjects for item in subject.items.values()]
    ranks = {id(item): float(rank) for rank, item in enumerate(items)}
    variant = Variant(lambda item: ranks[id(item)], frozenset())

    found = selective_prediction(cohort, variant=variant, measures=MEASURES)

    end = found.chosen.curve[-1].coverage
    assert len(found.chosen.curve) > 100
    assert [point.coverage for point in found.chosen.band] == sorted(
        {percent / 100 for percent in range(1, 101) if percent / 100 <= end} | {end}
    )
