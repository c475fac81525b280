"""Bootstrap intervals of subjects, queries and risks."""

import random
from functools import partial
from statistics import mean, quantiles

import numpy as np
import pytest

from schemas.values.differences import Measures, RetrievalMeasures
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import Interval, ItemScore, Subject
from stages.metrics.bootstrap import _all_counts, bootstrap_all, draw, mean_intervals, paired_deltas, share_interval
from stages.metrics.confidence import evidence_count
from stages.metrics.scores import (
    Metric,
    cmax,
    cohort_of,
    item_mae,
    item_mae_by_item,
    item_mae_by_subject,
    item_mae_weighted,
    prediction_coverage,
    together,
)
from stages.metrics.selective import aurc_optimal, risk_band
from tests.stages.metrics.builders import cohort, random_subjects
from tests.stages.metrics.formulas import (
    augrc,
    augrc_truncated,
    aurc,
    aurc_achievable,
    aurc_truncated,
    auroc,
    bootstrap,
    drawing,
    excess_augrc,
    f1,
    paired_delta,
    risk_at_coverage,
    severity_accuracy,
    total_mae,
    total_pearson_r,
    total_rmse,
    value_of,
)

METRICS: tuple[Metric, ...] = (
    item_mae_weighted,
    item_mae_by_item,
    item_mae_by_subject,
    prediction_coverage,
    cmax,
    total_mae,
    total_rmse,
    total_pearson_r,
    severity_accuracy,
    f1,
    auroc,
    partial(aurc, confidence=evidence_count),
    partial(aurc_truncated, confidence=evidence_count, area_coverage=0.3),
    partial(augrc, confidence=evidence_count),
    partial(augrc_truncated, confidence=evidence_count, area_coverage=0.3),
    partial(risk_at_coverage, coverage=0.3, confidence=evidence_count),
    partial(excess_augrc, confidence=evidence_count),
    partial(aurc_achievable, confidence=evidence_count),
    partial(aurc_optimal, loss="abs_norm"),
)


def resampled_by_loops(metric: Metric, subjects: list[Subject], resamples: int, seed: int) -> list[float | None]:
    """Every resample as a cohort of its own, in which a participant who is drawn twice counts as two."""
    rng = np.random.RandomState(seed)
    values = []
    for _ in range(resamples):
        drawn = [subjects[at] for at in rng.randint(0, len(subjects), size=len(subjects))]
        copies = [one.model_copy(update={"participant_id": number}) for number, one in enumerate(drawn)]
        values.append(value_of(metric, cohort_of(copies)))
    return values


@pytest.mark.parametrize("metric", METRICS)
def test_a_resample_has_the_value_of_a_cohort_of_its_own(metric: Metric) -> None:
    subjects = random_subjects(6, seed=4, na_share=0.45)
    expected = resampled_by_loops(metric, subjects, 60, 42)

    (draws,) = draw(6, resamples=60, seed=42)
    found = metric(cohort_of(subjects), draws)

    assert [None if np.isnan(value) else value for value in found.tolist()] == [
        None if value is None else pytest.approx(value) for value in expected
    ]


def test_the_interval_is_made_of_the_values_that_there_are() -> None:
    # The last of three participants has no score, so one of 27 resamples has no MAE at all.
    subjects = random_subjects(3, seed=1)
    values = resampled_by_loops(item_mae_weighted, subjects, 400, 42)
    valid = [value for value in values if value is not None]

    found = bootstrap(item_mae_weighted, cohort_of(subjects), resamples=400)

    assert found == Interval(
        value=value_of(item_mae_weighted, cohort_of(subjects)),
        low=float(np.percentile(valid, 2.5)),
        high=float(np.percentile(valid, 97.5)),
        std=float(np.std(valid, ddof=1)),
        drop_rate=1 - len(valid) / 400,
        resamples=400,
    )
    assert 0.01 < found.drop_rate < 0.07


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_participants() -> None:
    subjects = random_subjects(7, seed=2)

    first, second = (bootstrap(item_mae_weighted, cohort_of(order)) for order in (subjects, subjects[::-1]))

    assert first == second
    assert first != bootstrap(item_mae_weighted, cohort_of(subjects), seed=43)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kept", [0, 10**9], ids=["drawn each time", "kept"])
def test_draws_in_blocks_are_those_of_one(metric: Metric, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = cohort_of(random_subjects(6, seed=4, na_share=0.45))
    _all_counts.cache_clear()
    whole = bootstrap(metric, subjects, resamples=61)
    monkeypatch.setattr("stages.metrics.bootstrap._KEPT", kept)
    monkeypatch.setattr("stages.metrics.bootstrap._IN_USE", 6 * 20)

    blocks = list(draw(6, resamples=61, seed=43))
    in_blocks = [bootstrap(metric, subjects, resamples=61, seed=seed) for seed in (43, 42, 42)]

    assert [len(block) for block in blocks] == [20, 20, 20, 1]
    assert in_blocks[0] != in_blocks[1] == in_blocks[2]
    for name in ("value", "low", "high", "std"):
        assert getattr(in_blocks[1], name) == pytest.approx(getattr(whole, name))


def test_the_delta_of_a_worked_example() -> None:
    # Errors 1 and 2 on the left, 0 and 3 on the right. Both resampled together, the delta is -1, 0 or 1.
    left, right = cohort(("1", "0"), ("2", "0")), cohort(("0", "0"), ("3", "0"))

    found = paired_delta(item_mae_weighted, left, right, resamples=1000)

    assert (found.baseline, found.value, found.delta.value) == (1.5, 1.5, 0.0)
    assert (found.delta.low, found.delta.high) == (-1.0, 1.0)


def test_fewer_than_ten_have_a_value_without_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stages.metrics.bootstrap.LEAST", 10)
    # The last one has no score.
    ten, nine = (cohort_of(random_subjects(count, seed=3, na_share=0)) for count in (11, 10))
    # Nobody but the first has a score for the item.
    alone = [
        subject if not at else subject.model_copy(update={"items": subject.items | {PHQ8Item.SLEEP: ItemScore()}})
        for at, subject in enumerate(random_subjects(10, seed=3, na_share=0))
    ]
    metrics = together({"mae": item_mae_weighted, "sleep": partial(item_mae, item=PHQ8Item.SLEEP)})
    few, values = drawing(20), [0.1 * place for place in range(10)]
    participants = [
        bootstrap_all(metrics, ten, few)["mae"],
        bootstrap_all(metrics, nine, few)["mae"],
        paired_deltas(metrics, nine, nine, few)["mae"].delta,
        bootstrap_all(metrics, cohort_of(alone), few)["sleep"],
    ]
    queries = [mean_intervals([[value] for value in some], few, columns=1)[0] for some in (values, values[1:])]
    shares = [share_interval(values, wholes, RetrievalMeasures()) for wholes in ([1.0] * 10, [0.0, *[1.0] * 9])]

    assert [one.low is None for one in participants] == [False, True, True, True]
    assert [one.low is None for one in (*queries, *shares)] == [False, True, False, True]
    assert None not in [one.value for one in (*participants, *queries, *shares)]


def test_the_interval_is_that_of_means_over_drawn_queries() -> None:
    values = [0.0, 0.2, 0.2, 0.5, 0.9, 1.0, 1.0, 0.4]
    generator = random.Random(1)
    drawn = [mean(generator.choices(values, k=len(values))) for _ in range(20_000)]
    bounds = quantiles(drawn, n=40)

    found, same = mean_intervals([[value, 1.0] for value in values], Measures(), columns=2)
    share = share_interval([1, 0], [1, 3], RetrievalMeasures())

    assert found.value == pytest.approx(mean(values))
    assert (found.low, found.high) == pytest.approx((bounds[0], bounds[-1]), abs=0.02)
    assert (same.value, same.low, same.high) == (1.0, 1.0, 1.0)
    assert (share.value, share.low, share.high) == (0.25, 0.0, 1.0)


def test_the_band_is_that_of_the_risk_at_each_coverage_up_to_cmax() -> None:
    three = cohort(("12", "10", "31"), ("3", "0", "2"), ("22", "22", "31"))

    first, second = risk_band(three, confidence=evidence_count, coverages=[0.1, 0.2, 0.26], measures=drawing(200, 1))

    (draws,) = draw(len(three), resamples=200, seed=1)
    for point in (first, second):
        risks = risk_at_coverage(three, draws, coverage=point.coverage, confidence=evidence_count)
        assert (point.low, point.high) == pytest.approx(tuple(np.nanpercentile(risks, (2.5, 97.5))))
    for alone in (cohort(("1", "2", "1")), cohort(("1", "2", "1"), ("-", "2"))):
        assert risk_band(alone, confidence=evidence_count, coverages=[0.0625], measures=drawing(20)) == ()
