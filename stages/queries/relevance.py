"""Whether a corpus answers a question: the probability, by weights that were fitted for each embedder."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import exp
from typing import NamedTuple

from schemas.errors import NothingRelevantError


class Evidence(NamedTuple):
    """What the probability is estimated from: how near the sentences of the first three passages come to a question."""

    sentence_cosine: float
    """Of the nearest sentence."""
    sentences_cosine: float
    """The mean of the three nearest."""
    sentence_coverage: float
    """The largest share of the question's terms that one sentence has, from 0 to 1; 0 for a question without terms."""
    passage_coverage: float
    """The largest share that all sentences of one passage have."""


class FloorModel(NamedTuple):
    """The weights of the regression: of each field of Evidence, in order."""

    weights: tuple[float, ...]
    intercept: float

    def probability(self, evidence: Evidence) -> float:
        """The probability that the corpus answers the question, from 0 to 1."""
        return 1 / (1 + exp(-self.intercept - sum(map(float.__mul__, self.weights, map(float, evidence)))))


@cache
def floor_models() -> Mapping[str, FloorModel]:
    """The fitted models, by the name of the embedder."""
    text = (resources.files("stages.queries") / "relevance.json").read_text("utf-8")
    return {
        embedder: FloorModel(tuple(float(fitted["weights"][name]) for name in Evidence._fields), fitted["intercept"])
        for embedder, fitted in json.loads(text)["embedders"].items()
    }


def refuse_below(probability: float, floor: float) -> None:
    """Raise NothingRelevantError for a question that the corpus answers with a lower probability than the floor."""
    if probability < floor:
        raise NothingRelevantError(
            f"No passage of this corpus answers the question: the probability is {probability:.2f}, and "
            f"RAGQ_RELEVANCE_FLOOR is {floor:g}",
            setting="RAGQ_RELEVANCE_FLOOR=0",
        )
