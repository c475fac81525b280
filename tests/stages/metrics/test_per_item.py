"""Measures of single items."""

from functools import partial

from schemas.values.metrics import ItemMetrics
from schemas.values.participants import PHQ8Item
from stages.metrics.scores import item_mae, per_item, value_of
from tests.stages.metrics.builders import cohort

THREE = cohort(("30", "00"), ("1-", "0"), ("-", "0"))
"""Two evaluated participants; the third has no score at all."""


def test_items_are_counted_over_the_evaluated_participants() -> None:
    expected = {
        PHQ8Item.NO_INTEREST: ItemMetrics(mae=2.0, count=2, coverage=1.0, na_count=0),  # errors 3 and 1
        PHQ8Item.DEPRESSED: ItemMetrics(mae=0.0, count=1, coverage=0.5, na_count=1),
    }
    nothing = ItemMetrics(mae=None, count=0, coverage=0.0, na_count=2)

    assert per_item(THREE) == {item: expected.get(item, nothing) for item in PHQ8Item}


def test_the_mae_of_one_item_is_a_metric() -> None:
    assert value_of(partial(item_mae, item=PHQ8Item.NO_INTEREST), THREE) == 2.0
    assert value_of(partial(item_mae, item=PHQ8Item.SLEEP), THREE) is None
