"""How near the tokens of a vocabulary are to a phrase: several sources, fused, searched in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schemas.values.tags import Neighbour, SourceScores
from stages.tags.characters import CharacterModel
from stages.tags.models import in_any_order, plain, spelling_scores
from stages.tags.ports import TokenQuery, Vector

CHARACTERS: Final = 0.3
"""The weight of characters in the fusion for a phrase that is no token; the sentence has the rest."""

FASTTEXT: Final = 0.6
"""The weight of FastText in the fusion for a phrase that is a token, which it has learnt; the sentence has the rest."""

_PART: Final = 250_000
"""Multiplications of a part of a product of matrices: threads of BLAS would wait long on a busy machine."""

POOL: Final = 100
"""Tokens that each source proposes, of which the fused order is exact; at least four for each one asked for."""


@dataclass(frozen=True, kw_only=True)
class TokenTable:
    """The vectors of tokens, searched exactly."""

    tokens: Sequence[str]
    """In ascending order."""
    vectors: NDArray[np.float32]
    """One row per token, of any length but 0."""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Token -> its row."""
        return {token: row for row, token in enumerate(self.tokens)}

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return _lengths(self.vectors)

    def cosines(self, vector: Vector, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The cosine of the vector with each of the rows."""
        exact = vector.astype(np.float64)
        # Products of two float32 are exact in float64, and numpy adds them up in an order of its own, without BLAS.
        sums = np.add.reduce(self.vectors[rows].astype(np.float64) * exact, axis=1)
        lengths = self._lengths[rows] * _lengths(exact[np.newaxis])
        return np.asarray(np.clip(sums / lengths, -1.0, 1.0))

    def proposed(self, vectors: NDArray[np.float32], limit: int) -> list[NDArray[np.intp]]:
        """For each vector, rows that hold the `limit` nearest ones, and others within the error of float32."""
        near = _products(at_length_1(vectors), self.vectors)
        near /= self._lengths.astype(np.float32)
        margin = 4 * self.vectors.shape[1] * float(np.finfo(np.float32).eps)
        return [_at_least(of_vector, limit, margin=margin) for of_vector in near]

    def nearest(self, queries: Sequence[TokenQuery], limit: int) -> list[tuple[Neighbour, ...]]:
        """See NeighbourSearch, for queries with a vector alone."""
        vectors = np.array([query.vector for query in queries], dtype=np.float32)
        # A token is not its own neighbour, so one more is proposed.
        proposed = self.proposed(vectors, limit + 1)
        found = []
        for query, rows, vector in zip(queries, proposed, vectors, strict=True):
            others = rows[rows != self.places.get(query.token, -1)]
            similarities = self.cosines(vector, others)
            # Rows are in the order of tokens, so a stable order by similarity leaves ties by token.
            best = np.argsort(-similarities, kind="stable")[:limit]
            found.append(
                tuple(Neighbour(token=self.tokens[others[at]], similarity=float(similarities[at])) for at in best)
            )
        return found


@dataclass(frozen=True, kw_only=True)
class SimilarityModel:
    """Spelling and meaning of the tokens of a vocabulary."""

    digest: str
    tokens: Sequence[str]
    """In ascending order; rows of the arrays."""
    characters: CharacterModel
    sentences: NDArray[np.float32]
    """The sentence vectors of tokens at length 1."""

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        return self.sentences.nbytes + self.characters.bytes


class FusedSearch:
    """The tokens of a vocabulary, searched by all sources."""

    def __init__(self, model: SimilarityModel, table: TokenTable) -> None:
        self._model = model
        self._table = table
        self._plain = [plain(token) for token in model.tokens]
        self._ordered = [in_any_order(name) for name in self._plain]
        self._in_table = np.array([table.places.get(token, -1) for token in model.tokens])
        """The row of each token in the table; -1 where it has none."""
        self._from_table = np.full(len(table.tokens), -1)
        """The row in the model of each token of the table; -1 where it has none."""
        self._from_table[self._in_table[self._in_table >= 0]] = np.flatnonzero(self._in_table >= 0)
        self._places = {token: row for row, token in enumerate(model.tokens)}

    def nearest(self, queries: Sequence[TokenQuery], limit: int) -> list[tuple[Neighbour, ...]]:
        """See NeighbourSearch, for queries with a sentence vector."""
        pool = max(POOL, 4 * limit)
        sentences = _products(at_length_1(np.array([query.sentence for query in queries])), self._model.sentences)
        return [
            self._of(query, np.clip(near, -1.0, 1.0), pool, limit)
            for query, near in zip(queries, sentences, strict=True)
        ]

    def _of(self, query: TokenQuery, near: NDArray[np.float32], pool: int, limit: int) -> tuple[Neighbour, ...]:
        words = plain(query.token)
        alike = self._model.characters.cosines(words)
        is_known = query.vector is not None and query.token in self._table.places
        proposals = [_at_least(near, pool), _at_least(alike, pool)]
        if is_known and query.vector is not None:
            proposals += [self._from_table[rows] for rows in self._table.proposed(query.vector[np.newaxis], pool)]
        rows = np.setdiff1d(np.concatenate(proposals), [-1, self._places.get(query.token, -1)])
        by_sentence, by_characters = near[rows], alike[rows]
        by_token = self._by_token(query, rows)
        spelt = spelling_scores(
            words,
            [self._plain[row] for row in rows],
            ordered=in_any_order(words),
            others_ordered=[self._ordered[row] for row in rows],
        )
        fused = np.maximum(spelt, CHARACTERS * by_characters + (1 - CHARACTERS) * by_sentence)
        if is_known:
            learnt = FASTTEXT * by_token + (1 - FASTTEXT) * by_sentence
            fused = np.where(np.isnan(by_token), fused, learnt)
        return tuple(
            Neighbour(
                token=self._model.tokens[rows[at]],
                similarity=float(fused[at]),
                sources=SourceScores(
                    score_fasttext=None if np.isnan(by_token[at]) else float(by_token[at]),
                    score_similarity=float(fused[at]),
                    score_characters=float(by_characters[at]),
                    score_sentence=float(by_sentence[at]),
                    score_spelling=float(spelt[at]),
                ),
            )
            for at in np.argsort(-fused, kind="stable")[:limit]
        )

    def _by_token(self, query: TokenQuery, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The cosine of the token model; not a number where it has no vector."""
        found = np.full(len(rows), np.nan)
        if query.vector is not None:
            placed = self._in_table[rows] >= 0
            found[placed] = self._table.cosines(query.vector, self._in_table[rows][placed])
        return found


def at_length_1(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The rows at length 1."""
    return np.asarray(vectors / _lengths(vectors)[:, np.newaxis], dtype=np.float32)


def _products(queries: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inner product of each query with each row, in parts so small that BLAS needs no second thread for them."""
    products = np.empty((len(queries), len(rows)), dtype=np.float32)
    step = max(1, _PART // max(1, queries.size))
    for start in range(0, len(rows), step):
        np.matmul(queries, rows[start : start + step].T, out=products[:, start : start + step])
    return products


def _lengths(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.add.reduce(exact * exact, axis=1))
    return np.asarray(np.where(lengths > 0, lengths, 1.0))


def _at_least(scores: NDArray[np.floating], limit: int, *, margin: float = 0.0) -> NDArray[np.intp]:
    """The positions of the `limit` largest scores, ascending, and of all that are equal or within the margin."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    smallest = np.partition(scores, -limit)[-limit] - margin
    return np.flatnonzero(scores >= smallest if smallest > 0 or margin else scores > smallest)
