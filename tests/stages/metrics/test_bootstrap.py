"""Bootstrap intervals of subjects, queries and risks."""

from collections import defaultdict
from functools import partial

import numpy as np
import pytest

from schemas.values.differences import RetrievalMeasures
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ItemScore
from stages.metrics.bootstrap import _all_counts, bootstrap_all, draw, mean_intervals, paired_deltas, share_interval
from stages.metrics.scores import cohort_of, everybody_once, item_mae, item_mae_weighted, together
from tests.stages.metrics.builders import random_subjects
from tests.stages.metrics.formulas import bootstrap, drawing, every_metric


def test_a_resample_has_the_values_of_a_cohort_of_its_own() -> None:
    subjects = random_subjects(6, seed=4, na_share=0.45)
    rng = np.random.RandomState(42)
    expected = defaultdict(list)
    for _ in range(60):
        # A participant who is drawn twice counts as two.
        drawn = [subjects[at] for at in rng.randint(0, 6, size=6)]
        alone = cohort_of(one.model_copy(update={"participant_id": number}) for number, one in enumerate(drawn))
        for name, (value,) in every_metric(alone, everybody_once(alone)).items():
            expected[name].append(float(value))

    (draws,) = draw(6, resamples=60, seed=42)
    found = every_metric(cohort_of(subjects), draws)

    assert len(found) == 24
    for name, values in found.items():
        assert (name, values.tolist()) == (name, pytest.approx(expected[name], nan_ok=True))


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_participants() -> None:
    subjects = random_subjects(7, seed=2)

    first, second = (bootstrap(item_mae_weighted, cohort_of(order)) for order in (subjects, subjects[::-1]))

    assert first == second
    assert first != bootstrap(item_mae_weighted, cohort_of(subjects), seed=43)


@pytest.mark.parametrize("kept", [0, 10**9], ids=["drawn each time", "kept"])
def test_draws_in_blocks_are_those_of_one(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = cohort_of(random_subjects(6, seed=4, na_share=0.45))
    _all_counts.cache_clear()
    whole = bootstrap_all(every_metric, subjects, drawing(61))
    monkeypatch.setattr("stages.metrics.bootstrap._KEPT", kept)
    monkeypatch.setattr("stages.metrics.bootstrap._IN_USE", 6 * 20)

    blocks = list(draw(6, resamples=61, seed=43))
    other, *same = (bootstrap_all(every_metric, subjects, drawing(61, seed)) for seed in (43, 42, 42))

    assert [len(block) for block in blocks] == [20, 20, 20, 1]
    assert same[0] == same[1]
    for name, found in same[0].items():
        assert found != other[name], name
        assert found.model_dump() == pytest.approx(whole[name].model_dump()), name


def test_fewer_than_ten_have_a_value_without_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stages.metrics.bootstrap.LEAST", 10)
    # The last one has no score.
    ten, nine = (cohort_of(random_subjects(count, seed=3, na_share=0)) for count in (11, 10))
    # Nobody but the first has a score for the item.
    first, *others = random_subjects(10, seed=3, na_share=0)
    bare = [one.model_copy(update={"items": one.items | {PHQ8Item.SLEEP: ItemScore()}}) for one in others]
    metrics = together({"mae": item_mae_weighted, "sleep": partial(item_mae, item=PHQ8Item.SLEEP)})
    few, values = drawing(20), [0.1 * place for place in range(10)]
    participants = [
        bootstrap_all(metrics, ten, few)["mae"],
        bootstrap_all(metrics, nine, few)["mae"],
        paired_deltas(metrics, nine, nine, few)["mae"].delta,
        bootstrap_all(metrics, cohort_of([first, *bare]), few)["sleep"],
    ]
    queries = [mean_intervals([[value] for value in some], few, columns=1)[0] for some in (values, values[1:])]
    shares = [share_interval(values, wholes, RetrievalMeasures()) for wholes in ([1.0] * 10, [0.0, *[1.0] * 9])]

    assert [one.low is None for one in participants] == [False, True, True, True]
    assert [one.low is None for one in (*queries, *shares)] == [False, True, False, True]
    assert None not in [one.value for one in (*participants, *queries, *shares)]
