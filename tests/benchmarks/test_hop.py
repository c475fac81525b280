"""The evaluation of the measured numbers."""

from benchmarks.hop import HopMeasurement, best, medians, ratios


def measured(hop_p50_ms: float, stages_per_s: float) -> HopMeasurement:
    return HopMeasurement(hop_p50_ms, 2 * hop_p50_ms, stages_per_s, 1.0, 1.0, 1.0, 1.0)


def test_medians_are_taken_field_by_field() -> None:
    assert medians([measured(1, 300), measured(2, 100), measured(9, 200)]) == measured(2, 200)


def test_the_best_round_is_the_fastest_in_each_field() -> None:
    assert best([measured(1, 100), measured(2, 300)]) == measured(1, 300)


def test_ragq_is_compared_with_the_other_systems() -> None:
    celery, ragq, dbos = measured(2, 400), measured(5, 200), measured(9, 100)

    assert ratios({"celery": celery, "ragq": ragq, "dbos": dbos}) == {
        "hop p50 / celery": 2.5,
        "stages/s / celery": 0.5,
        "hop p50 / dbos": 5 / 9,
        "stages/s / dbos": 2.0,
    }
    assert ratios({"ragq": ragq}) == {}
