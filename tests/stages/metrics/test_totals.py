"""The total score against the truth."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import pearsonr  # type: ignore[import-untyped]
from sklearn.metrics import mean_absolute_error, root_mean_squared_error  # type: ignore[import-untyped]

from stages.metrics.scores import cohort_of, has_total, total_metrics, total_pearson_r, value_of
from tests.stages.metrics.builders import cohort, random_subjects


def test_totals_of_a_worked_example() -> None:
    # Totals 4, 6, 12 against 5, 6, 10: errors -1, 0, 2. Bands minimal|mild, mild|mild, moderate|moderate. The fourth
    # has three scored items and no total. r = (3 x 176 - 22 x 21) / sqrt((3 x 196 - 484) (3 x 161 - 441)).
    four = cohort(("1111", "11111"), ("33000", "33"), ("33330000", "3331"), ("333", "333"))

    assert total_metrics(four).model_dump() == {
        "subjects": 4,
        "predicted": 3,
        "coverage": 0.75,
        "mae": pytest.approx(1.0),
        "rmse": pytest.approx((5 / 3) ** 0.5),
        "pearson_r": pytest.approx(66 / (104 * 42) ** 0.5),
        "severity_accuracy": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize(
    ("min_coverage", "scored", "expected"),
    [(0.5, 4, True), (0.5, 3, False), (0.51, 4, False), (0.51, 5, True), (1, 7, False), (1, 8, True), (0.125, 1, True)],
)
def test_a_total_needs_the_ceiling_of_the_share_of_eight(min_coverage: float, scored: int, expected: bool) -> None:
    assert has_total(cohort(("1" * scored, "1")), min_coverage=min_coverage).tolist() == [expected]


def test_a_participant_without_any_score_never_has_a_total() -> None:
    assert has_total(cohort(("-", "1")), min_coverage=0).tolist() == [False]


@pytest.mark.parametrize("share", [-0.1, 1.1, 50])
def test_a_share_outside_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="give a share from 0 to 1"):
        has_total(cohort(("1", "1")), min_coverage=share)


@pytest.mark.parametrize(
    "rows",
    [
        [("1111", "1")],  # one participant
        [("1111", "1"), ("2200", "3")],  # equal totals
        [("1111", "1"), ("2222", "0001")],  # equal truths
    ],
)
def test_correlation_needs_two_participants_and_variance(rows: list[tuple[str, str]]) -> None:
    assert value_of(total_pearson_r, cohort(*rows)) is None


@pytest.mark.parametrize("seed", range(5))
def test_totals_agree_with_other_libraries(seed: int) -> None:
    together = cohort_of(random_subjects(30, seed=seed))
    has = has_total(together, min_coverage=0.6)
    totals, truths = together.totals[has], together.true_totals[has]

    found = total_metrics(together, min_coverage=0.6)

    assert found.mae == pytest.approx(mean_absolute_error(truths, totals))
    assert found.rmse == pytest.approx(root_mean_squared_error(truths, totals))
    assert found.pearson_r == pytest.approx(pearsonr(truths, totals).statistic)
    assert np.count_nonzero(has) == found.predicted
    assert value_of(partial(total_pearson_r, min_coverage=0.6), together) == found.pearson_r
