"""Scorers without a language model, fitted on training participants and compared on others."""

import numpy as np
import pytest

from schemas.values.differences import Measures
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ItemScore, Subject
from stages.evaluations.scorers import Evidence, fitted_scores, scorer_errors
from stages.metrics.scores import cohort_of

SLEEP = PHQ8Item.SLEEP


def person(number: int, score: int, angle: float | None) -> Evidence:
    """The same score for each item, and evidence for one, by its direction in degrees."""
    radians = np.radians(angle or 0)
    vectors = {} if angle is None else {SLEEP: np.array([np.cos(radians), np.sin(radians)], dtype=np.float32)}
    return Evidence(number, dict.fromkeys(PHQ8Item, score), vectors)


#: Scores rise with the direction; five of the nine have 0 or 1.
TRAINING = [person(300 + at, score, 20 * at) for at, score in enumerate([0, 0, 0, 1, 1, 2, 2, 3, 3])]


def test_neighbours_and_ridge_follow_the_evidence_and_the_others_do_not() -> None:
    near, far, silent = person(401, 0, 1), person(402, 3, 158), person(403, 1, None)

    scores, alphas = fitted_scores([near, far, silent], TRAINING, neighbours=3)

    of_sleep = {name: [found[number][SLEEP] for number in (401, 402, 403)] for name, found in scores.items()}
    assert of_sleep["neighbours"] == [0, 3, 1]
    assert of_sleep["ridge"][0] < of_sleep["ridge"][1]
    assert of_sleep["ridge"][2] == 1
    assert (of_sleep["median"], of_sleep["mean"], of_sleep["mode"]) == ([1] * 3, [1] * 3, [0] * 3)
    assert alphas.keys() == {SLEEP}


def test_errors_are_those_of_the_run_and_of_each_scorer_on_its_participants() -> None:
    people = [person(401 + at, 2, None) for at in range(10)]
    run = cohort_of(
        Subject(
            participant_id=one.participant_id, truth=dict(one.scores), items=dict.fromkeys(PHQ8Item, ItemScore(score=2))
        )
        for one in people
    )

    errors = scorer_errors(
        run, fitted_scores(people, TRAINING, neighbours=3).scores, measures=Measures(bootstrap_resamples=20)
    )

    by_name = {one.scorer: one for one in errors}
    assert list(by_name) == ["run", "neighbours", "ridge", "median", "mean", "mode"]
    assert {name: one.item_mae_weighted.value for name, one in by_name.items()} == pytest.approx(
        {"run": 0, "neighbours": 1, "ridge": 1, "median": 1, "mean": 1, "mode": 2}
    )
    assert (by_name["run"].less_median.value, by_name["mode"].less_median.high) == (-1, 1)
