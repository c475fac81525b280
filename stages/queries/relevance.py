"""Whether a corpus answers a question: the probability, by weights that were fitted for each embedder."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import exp
from typing import Any, NamedTuple

from schemas.errors import NothingRelevantError


class Evidence(NamedTuple):
    """How near the sentences of the first three passages come to a question."""

    sentence_cosine: float
    """Of the nearest sentence."""
    sentences_cosine: float
    """The mean of the three nearest."""
    sentence_coverage: float
    """The largest share of the question's terms that one sentence has, from 0 to 1; 0 for a question without terms."""
    passage_coverage: float
    """The largest share that all sentences of one passage have."""


@cache
def fitted_weights() -> dict[str, dict[str, Any]]:
    """The `weights` of each field of Evidence and the `intercept`, by the name of the embedder they are fitted for."""
    text = (resources.files("stages.queries") / "relevance.json").read_text("utf-8")
    fitted: dict[str, dict[str, Any]] = json.loads(text)["embedders"]
    return fitted


def probability(evidence: Evidence, fitted: Mapping[str, Any]) -> float:
    """The probability that the corpus answers the question, from 0 to 1, by logistic regression."""
    weighted = (fitted["weights"][name] * value for name, value in evidence._asdict().items())
    return 1 / (1 + exp(-fitted["intercept"] - sum(weighted)))


def refuse_below(probability: float, floor: float) -> None:
    """Raise NothingRelevantError for a question that the corpus answers with a lower probability than the floor."""
    if probability < floor:
        raise NothingRelevantError(
            f"No passage of this corpus answers the question: the probability is {probability:.2f}, and "
            f"RAGQ_RELEVANCE_FLOOR is {floor:g}",
            setting="RAGQ_RELEVANCE_FLOOR=0",
        )
