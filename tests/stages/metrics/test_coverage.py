"""How much was scored."""

import pytest

from stages.metrics.scores import cmax, prediction_coverage, value_of
from tests.stages.metrics.builders import cohort


def test_coverage_leaves_out_unscored_participants_and_cmax_does_not() -> None:
    # 6 + 2 of the items of two evaluated participants; three participants in all.
    three = cohort(("000000", "0"), ("00", "0"), ("-", "0"))

    assert value_of(prediction_coverage, three) == pytest.approx(8 / 16)
    assert value_of(cmax, three) == pytest.approx(8 / 24)


def test_with_nothing_scored_cmax_is_zero_and_coverage_is_undefined() -> None:
    unscored = cohort(("-", "0"))

    assert (value_of(prediction_coverage, unscored), value_of(cmax, unscored)) == (None, 0.0)
    assert (value_of(prediction_coverage, cohort()), value_of(cmax, cohort())) == (None, None)
