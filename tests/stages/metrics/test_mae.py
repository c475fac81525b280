"""The three ways to average item errors."""

import pytest

from stages.metrics.scores import (
    Cohort,
    Metric,
    cohort_of,
    item_mae_by_item,
    item_mae_by_subject,
    item_mae_weighted,
    value_of,
)
from tests.stages.metrics.builders import cohort, random_subjects

TWO = cohort(("31", "00"), ("1---", "0"))
"""Errors 3 and 1 of the first participant, 1 of the second; first item 3 and 1, second item 1."""


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (item_mae_weighted, (3 + 1 + 1) / 3),
        (item_mae_by_item, ((3 + 1) / 2 + 1 / 1) / 2),  # two items have data
        (item_mae_by_subject, ((3 + 1) / 2 + 1 / 1) / 2),
    ],
)
def test_the_mae_of_a_worked_example(metric: Metric, expected: float) -> None:
    assert value_of(metric, TWO) == pytest.approx(expected)


def test_by_item_and_by_subject_differ_when_items_have_unequal_counts() -> None:
    # Errors: participant 1 has 2, 0, 0; participant 2 has 1 in the first item. By item: (1.5 + 0 + 0) / 3; by
    # subject: (2/3 + 1) / 2.
    uneven = cohort(("200", "000"), ("1", "0"))

    assert value_of(item_mae_by_item, uneven) == pytest.approx(0.5)
    assert value_of(item_mae_by_subject, uneven) == pytest.approx(5 / 6)


@pytest.mark.parametrize("metric", [item_mae_weighted, item_mae_by_item, item_mae_by_subject])
@pytest.mark.parametrize("empty", [cohort(), cohort(("--------", "3")), cohort(("-", "1"), ("-", "2"))])
def test_without_a_score_there_is_no_error(metric: Metric, empty: Cohort) -> None:
    assert value_of(metric, empty) is None


@pytest.mark.parametrize("seed", range(5))
def test_mae_agrees_with_plain_loops(seed: int) -> None:
    subjects = random_subjects(9, seed=seed)
    rows = [
        {item: abs(score.score - one.truth[item]) for item, score in one.items.items() if score.score is not None}
        for one in subjects
    ]

    every = [error for row in rows for error in row.values()]
    items = [[row[item] for row in rows if item in row] for item in subjects[0].items]
    means = [sum(errors) / len(errors) for errors in items if errors]
    own = [sum(row.values()) / len(row) for row in rows if row]
    together = cohort_of(subjects)
    assert value_of(item_mae_weighted, together) == pytest.approx(sum(every) / len(every))
    assert value_of(item_mae_by_item, together) == pytest.approx(sum(means) / len(means))
    assert value_of(item_mae_by_subject, together) == pytest.approx(sum(own) / len(own))
