"""The band around a risk-coverage curve."""

import numpy as np
import pytest

from stages.metrics.bootstrap import draw
from stages.metrics.confidence import evidence_count
from stages.metrics.scores import Cohort
from stages.metrics.selective import risk_band
from tests.stages.metrics.builders import cohort
from tests.stages.metrics.formulas import risk_at_coverage

COHORT = cohort(("12", "10", "31"), ("3", "0", "2"), ("22", "22", "31"))


def test_the_band_is_that_of_the_risk_at_each_coverage() -> None:
    found = risk_band(COHORT, confidence=evidence_count, coverages=[0.1, 0.2], resamples=200, seed=1)

    (draws,) = draw(len(COHORT), resamples=200, seed=1)
    for point in found:
        risks = risk_at_coverage(COHORT, draws, coverage=point.coverage, confidence=evidence_count)
        low, high = np.nanpercentile(risks, (2.5, 97.5))
        assert (point.low, point.high) == pytest.approx((low, high))


def test_coverages_beyond_cmax_have_no_band() -> None:
    assert risk_band(COHORT, confidence=evidence_count, coverages=[0.26, 1.0], resamples=20) == ()


@pytest.mark.parametrize("alone", [cohort(("1", "2", "1")), cohort(("1", "2", "1"), ("-", "2"))])
def test_the_scores_of_one_participant_have_no_band(alone: Cohort) -> None:
    assert risk_band(alone, confidence=evidence_count, coverages=[0.0625], resamples=20) == ()
