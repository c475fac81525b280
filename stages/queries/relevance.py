"""Whether a corpus answers a question: a probability, from the scores of the best passages.

A logistic regression over four numbers. `relevance.json` has its weights for each embedder that it was fitted for, and
the record of the fit.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from math import exp
from typing import Final, NamedTuple

import numpy as np

from schemas.full_text import ENGLISH
from schemas.values.queries import RerankedChunk
from stages.corpora.cut import SEPARATOR
from stages.ports import Embedder, Terms
from stages.queries.extract_answer import units_of
from stages.vectors import unit_rows

_PASSAGES: Final = 3
_UNITS: Final = 200


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


async def evidence(
    question: str,
    chunks: Sequence[RerankedChunk],
    *,
    embedder: Embedder,
    terms: Terms,
    timeout_s: float,
    language: str = ENGLISH,
) -> Evidence | None:
    """The numbers of a question and the first three chunks that were found for it; None if they have no sentence.

    Each sentence is seen with the heading above it. The question and the sentences are embedded in one call; what the
    embedder does not read of a long one is cut. Raises what `unit_rows` raises, and the embedder's errors unchanged.
    """
    units = [
        unit
        for place, chunk in enumerate(chunks[:_PASSAGES])
        for unit in units_of(place, chunk.content, heading=_heading(chunk), language=language)
    ][:_UNITS]
    if not units:
        return None
    texts = [question, *(unit.searched for unit in units)]
    found = await embedder.embed_batch(texts, timeout_s=timeout_s, truncate=True)
    rows = unit_rows(found.vectors, rows=len(texts)).astype(np.float64)
    asked, *of_units = await terms(texts)
    nearest = np.sort(rows[1:] @ rows[0])[::-1][:3]
    by_passage = defaultdict[int, set[str]](set)
    for unit, of in zip(units, of_units, strict=True):
        by_passage[unit.source] |= of.keys()
    return Evidence(
        float(nearest[0]),
        float(nearest.mean()),
        max(_coverage(asked, of) for of in of_units),
        max(_coverage(asked, of) for of in by_passage.values()),
    )


def _heading(chunk: RerankedChunk) -> str:
    return (chunk.heading_breadcrumbs or "").rpartition(SEPARATOR)[2]


def _coverage(asked: Collection[str], terms: Collection[str]) -> float:
    return sum(term in terms for term in asked) / len(asked) if asked else 0.0
