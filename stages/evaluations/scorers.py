"""Scorers without a language model beside each other: neighbours, ridge regression, and scores without evidence."""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.values.differences import Measures
from schemas.values.participants import ITEM_SCORES, Neighbour, PHQ8Item
from schemas.values.scoring import ScorerErrors
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.scores import Cohort, item_mae, item_mae_weighted, together, value_of, with_scores
from stages.participants.score_by_neighbours import mean_score
from stages.participants.score_reply import median_score, modal_score, rounded
from stages.vectors import similarities

ALPHAS: Final = tuple(float(alpha) for alpha in np.logspace(-2, 2, 13))
"""The strengths of ridge regression that are tried."""


class Evidence(NamedTuple):
    """A participant: the true scores, and a vector of length 1 for each item with evidence."""

    participant_id: int
    scores: Mapping[PHQ8Item, int]
    vectors: Mapping[PHQ8Item, NDArray[np.float32]]


class Fitted(NamedTuple):
    """The scores of each scorer, by scorer and participant, and the strengths of ridge regression."""

    scores: dict[str, dict[int, dict[PHQ8Item, int]]]
    alphas: dict[PHQ8Item, float]


def fitted_scores(people: Sequence[Evidence], training: Sequence[Evidence], *, neighbours: int) -> Fitted:
    """What each scorer gives `people`, from `training` alone, who have all eight scores.

    An item without evidence, on either side, has the median of the training participants.
    """
    scores: dict[str, dict[int, dict[PHQ8Item, int]]] = {
        name: {one.participant_id: {} for one in people} for name in ("neighbours", "ridge", "median", "mean", "mode")
    }
    alphas = {}
    for item in PHQ8Item:
        labels = [one.scores[item] for one in training]
        always = {"median": median_score(labels), "mean": rounded(fmean(labels)), "mode": modal_score(labels)}
        known = [one for one in training if item in one.vectors]
        ridge = _Ridge.of(known, item) if len(known) > 1 else None
        if ridge is not None:
            alphas[item] = ridge.alpha
        for one in people:
            found: dict[str, int | None] = {"neighbours": always["median"], "ridge": always["median"], **always}
            if item in one.vectors and known:
                found["neighbours"] = mean_score(nearest(one, known, item)[:neighbours])[1]
            if item in one.vectors and ridge is not None:
                found["ridge"] = ridge.score(one.vectors[item])
            for name, score in found.items():
                assert score is not None, "training participants have scores"
                scores[name][one.participant_id][item] = score
    return Fitted(scores, alphas)


def scorer_errors(
    run: Cohort, scores: Mapping[str, Mapping[int, Mapping[PHQ8Item, int]]], *, measures: Measures
) -> tuple[ScorerErrors, ...]:
    """The errors of a run, and of each scorer on its participants, the first named `run`."""
    cohorts = {"run": run} | {name: with_scores(run, of_all) for name, of_all in scores.items()}
    metrics = together({"mae": item_mae_weighted})
    resamples, seed = measures.bootstrap_resamples, measures.bootstrap_seed
    found = []
    for name, cohort in cohorts.items():
        deltas = paired_deltas(metrics, cohorts["median"], cohort, resamples=resamples, seed=seed)
        found.append(
            ScorerErrors(
                scorer=name,
                item_mae_weighted=bootstrap_all(metrics, cohort, resamples=resamples, seed=seed)["mae"],
                less_median=deltas["mae"].delta,
                per_item={item: value_of(partial(item_mae, item=item), cohort) for item in PHQ8Item},
            )
        )
    return tuple(found)


def nearest(one: Evidence, known: Sequence[Evidence], item: PHQ8Item) -> list[Neighbour]:
    """Those who have evidence for the item, the nearest first."""
    near = similarities(np.stack([other.vectors[item] for other in known]), one.vectors[item])
    found = [
        Neighbour(participant_id=other.participant_id, similarity=float(similarity), score=other.scores[item])
        for other, similarity in zip(known, near, strict=True)
    ]
    return sorted(found, key=lambda other: (-other.similarity, other.participant_id))


class _Ridge(NamedTuple):
    """Ridge regression of the scores of an item on the vectors of its evidence."""

    weights: NDArray[np.float64]
    intercept: float
    alpha: float

    @classmethod
    def of(cls, known: Sequence[Evidence], item: PHQ8Item) -> "_Ridge":
        """Fitted; its strength is the one with the least squared error where each participant is left out in turn."""
        from sklearn.linear_model import RidgeCV  # type: ignore[import-untyped]

        model = RidgeCV(alphas=ALPHAS).fit(
            np.stack([one.vectors[item] for one in known]).astype(np.float64), [one.scores[item] for one in known]
        )
        return cls(np.asarray(model.coef_), float(model.intercept_), float(model.alpha_))

    def score(self, vector: NDArray[np.float32]) -> int:
        """The nearest score."""
        predicted = rounded(float(vector.astype(np.float64) @ self.weights + self.intercept))
        return min(max(predicted, ITEM_SCORES[0]), ITEM_SCORES[-1])
