"""The measures of a report: of an option, else of the run, else the defaults."""

import pytest

from schemas.errors import Refused
from schemas.values.measures import Measures
from schemas.values.scored_runs import ScoredRun, SettingValue
from stages.reports.measures import common_measures, measures_of
from tests.stages.reports.builders import run as scored_run


def having(**settings: tuple[object, str]) -> dict[str, SettingValue]:
    return {name: SettingValue(value=value, source=source) for name, (value, source) in settings.items()}


def run(run_id: int, **settings: tuple[object, str]) -> ScoredRun:
    return scored_run().model_copy(update={"run_id": run_id, "settings": having(**settings)})


def test_an_option_wins_over_the_run_and_the_run_over_the_default() -> None:
    settings = having(
        BINARY_THRESHOLD=(12, "environment"),
        TOTAL_SCORE_MIN_COVERAGE=(0.75, "file"),
        PREDICTION_MODE=("item", "default"),
    )

    assert measures_of(settings, {"binary_threshold": 8, "loss": "abs"}) == Measures(
        loss="abs",
        binary_threshold=8,
        total_min_coverage=0.75,
        prediction_mode="item",
        sources={
            "prediction_mode": "default",
            "total_min_coverage": "TOTAL_SCORE_MIN_COVERAGE of the run, file",
            "binary_threshold": "option",
            "coverage_grid": "default",
        },
    )


def test_runs_that_define_depression_in_two_ways_are_compared_by_an_option_alone() -> None:
    left, right = run(1, BINARY_THRESHOLD=(12, "option")), run(2, BINARY_THRESHOLD=(10, "default"))

    with pytest.raises(Refused) as refusal:
        common_measures(left, right, {})

    assert str(refusal.value) == (
        "r1 has BINARY_THRESHOLD=12 and r2 10; name the one to compare by with --binary-threshold."
    )
    assert common_measures(left, right, {"binary_threshold": 10}).binary_threshold == 10
    assert common_measures(left, left, {}).binary_threshold == 12
