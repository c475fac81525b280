"""Maximal marginal relevance: relevant and diverse passages (Carbonell and Goldstein, SIGIR 1998)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stages.queries.normalise import Scores, unit_range


def select_diverse(scores: Sequence[float], similarity: Scores, *, count: int, mmr_lambda: float) -> list[int]:
    """Indices of up to `count` candidates, in the order of their selection. Scores are given best first.

    The first candidate is selected, then repeatedly the one with the highest lambda * score - (1 - lambda) * its
    greatest similarity to one already selected, with scores scaled to 0 to 1. Of equals the earlier one is selected.
    With no more than `count` candidates, all are returned in their order.
    """
    if len(scores) <= count:
        return list(range(len(scores)))
    relevance = mmr_lambda * unit_range(np.asarray(scores, dtype=np.float64))
    selected = [0]
    while len(selected) < count:
        gain = relevance - (1 - mmr_lambda) * similarity[:, selected].max(axis=1)
        gain[selected] = -np.inf
        selected.append(int(gain.argmax()))
    return selected


def passage_similarity(ids: Sequence[int], texts: Sequence[str], vectors: Mapping[int, NDArray[np.float32]]) -> Scores:
    """The similarity of each pair of passages, 0 to 1.

    (cosine + 1) / 2 of their vectors, a vector of zeros having the cosine 0; where a vector is missing, the Jaccard
    similarity of their words, separated by white space and in lower case.
    """
    known = np.array([id_ in vectors for id_ in ids], dtype=bool)
    words = [set(text.lower().split()) for text in texts]
    similarity = np.zeros((len(ids), len(ids)))
    for one, other in np.argwhere(~np.logical_and.outer(known, known)):
        similarity[one, other] = _jaccard(words[one], words[other])
    if known.any():
        rows = np.stack([vectors[id_] for id_ in ids if id_ in vectors]).astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = rows / np.where(lengths == 0, 1, lengths)
        # Rounded, because equal products may differ in the last bit by position, which would break ties.
        similarity[np.ix_(known, known)] = ((units @ units.T + 1) / 2).round(12)
    return similarity


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
