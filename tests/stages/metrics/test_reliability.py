"""Calibration of confidence."""

import pytest

from schemas.values.metrics import ReliabilityBin
from schemas.values.participants import PHQ8Item
from stages.metrics.calibrators import reliability
from stages.metrics.confidence import evidence_count, evidence_share
from tests.stages.metrics.builders import cohort


def test_scored_items_fall_into_bins_by_confidence() -> None:
    # Shares 1/3, 2/3, 1, 1 with errors 3, 0, 0, 1; the fifth item has no score.
    items = cohort(("3001-", "0000", "12333"))

    low, high = reliability(items, confidence=evidence_share, bins=2)

    assert low == ReliabilityBin(low=0.0, high=0.5, count=1, confidence=1 / 3, exact=0.0, loss=1.0)
    assert high.model_dump() == pytest.approx(
        {"low": 0.5, "high": 1.0, "count": 3, "confidence": 8 / 9, "exact": 2 / 3, "loss": 1 / 9}
    )


def test_a_count_is_no_probability() -> None:
    with pytest.raises(ValueError, match=r"Reliability needs confidences in 0\.\.1"):
        reliability(cohort(("1", "1", "2")), confidence=evidence_count)


def test_one_item_only_leaves_out_the_others() -> None:
    two = cohort(("32", "00", "13"), ("1-", "00", "2"))

    found = reliability(two, confidence=evidence_share, bins=1, only=PHQ8Item.NO_INTEREST)

    assert found == reliability(cohort(("3", "0", "1"), ("1", "0", "2")), confidence=evidence_share, bins=1)
