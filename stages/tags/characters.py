"""TF-IDF over the character n-grams of names, in whole numbers, so that every machine gets the same sums."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

LENGTHS: Final = (2, 3, 4)
"""Of n-grams; the space before and after a word belongs to them."""

COMMON: Final = 2000
"""An n-gram of more names does not propose any."""

SCALE: Final = 4096
"""A weight of 1 as a whole number."""


@dataclass(frozen=True, kw_only=True)
class CharacterModel:
    """The weights of n-grams in the names of a vocabulary, by n-gram."""

    ngrams: Mapping[str, int]
    """N-gram -> its place in `starts` and `idf`."""
    idf: NDArray[np.float64]
    starts: NDArray[np.int64]
    """Where the names of an n-gram start in the two next arrays; one more at the end."""
    names: NDArray[np.int32]
    """The rows of names that have the n-gram, ascending."""
    weights: NDArray[np.int16]

    def knows(self, words: str) -> bool:
        """Whether a name of the vocabulary shares an n-gram with these words."""
        return any(ngram in self.ngrams for ngram in ngrams_of(words))

    def proposed(self, words: str, *, names: int) -> NDArray[np.float64]:
        """About the cosine of these words with each of the names, of which there are `names`, in the order of rows.

        N-grams of many names tell little and take long, so they do not count, unless there are no others.
        """
        weighed = self._weighed(words)
        rare = [(place, weight) for place, weight in weighed if self._occurrences[place] <= COMMON]
        here = [slice(self.starts[place], self.starts[place + 1]) for place, _ in rare or weighed]
        if not here:
            return np.zeros(names)
        products = [
            self.weights[of_ngram] * np.float64(weight)
            for of_ngram, (_, weight) in zip(here, rare or weighed, strict=True)
        ]
        rows = np.concatenate([self.names[of_ngram] for of_ngram in here])
        return np.bincount(rows, weights=np.concatenate(products), minlength=names) / SCALE**2

    def cosines(self, words: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The cosine of these words with the names in these rows."""
        asked = np.zeros(len(self.ngrams))
        for place, weight in self._weighed(words):
            asked[place] = weight
        starts, ngrams, weights = self._by_name
        lengths = starts[rows + 1] - starts[rows]
        first = np.cumsum(lengths) - lengths
        cells = np.repeat(starts[rows] - first, lengths) + np.arange(lengths.sum())
        summed = np.bincount(
            np.repeat(np.arange(len(rows)), lengths), weights=asked[ngrams[cells]] * weights[cells], minlength=len(rows)
        )
        return np.asarray(np.minimum(summed / SCALE**2, 1.0))

    def _weighed(self, words: str) -> list[tuple[int, int]]:
        """The place and the weight of each known n-gram of these words."""
        weights = _weights(Counter(ngrams_of(words)), self.ngrams, self.idf)
        return [(self.ngrams[ngram], weight) for ngram, weight in weights]

    @cached_property
    def _occurrences(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @cached_property
    def _by_name(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16]]:
        """The same as `starts`, `names` and `weights`, the other way round: the n-grams of each name."""
        order = np.argsort(self.names, kind="stable")
        ngrams = np.repeat(np.arange(len(self.ngrams), dtype=np.int32), self._occurrences)[order]
        names = int(self.names.max(initial=-1)) + 1
        starts = np.searchsorted(self.names[order], np.arange(names + 2))
        return starts, ngrams, self.weights[order]


def ngrams_of(words: str) -> Iterator[str]:
    """The n-grams of each word, repeated ones too.

    >>> list(ngrams_of("ab"))
    [' a', 'ab', 'b ', ' ab', 'ab ', ' ab ']
    """
    for word in words.split():
        padded = f" {word} "
        for length in LENGTHS:
            for start in range(len(padded) - length + 1):
                yield padded[start : start + length]


def character_model(names: Sequence[str]) -> CharacterModel:
    """The model of some names, which are written as `spelling.plain` writes them."""
    counted = [Counter(ngrams_of(name)) for name in names]
    occurs = Counter(chain.from_iterable(counted))
    places = {ngram: place for place, ngram in enumerate(sorted(occurs))}
    idf = np.array([math.log((1 + len(names)) / (1 + occurs[ngram])) + 1 for ngram in places])
    weighed = [list(_weights(counts, places, idf)) for counts in counted]
    rows = np.repeat(np.arange(len(names), dtype=np.int32), [len(of_name) for of_name in weighed])
    columns = np.fromiter((places[ngram] for of_name in weighed for ngram, _ in of_name), dtype=np.int64)
    weights = np.fromiter((weight for of_name in weighed for _, weight in of_name), dtype=np.int16)
    order = np.argsort(columns, kind="stable")
    return CharacterModel(
        ngrams=places,
        idf=idf,
        starts=np.searchsorted(columns[order], np.arange(len(places) + 1)),
        names=rows[order],
        weights=weights[order],
    )


def _weights(
    counts: Mapping[str, int], places: Mapping[str, int], idf: NDArray[np.float64]
) -> Iterator[tuple[str, int]]:
    """Each known n-gram with its count times its idf, at length 1 over all of them, as a whole number."""
    raw = {ngram: counts[ngram] * float(idf[places[ngram]]) for ngram in sorted(counts) if ngram in places}
    length = math.sqrt(math.fsum(weight * weight for weight in raw.values()))
    for ngram, weight in raw.items():
        yield ngram, round(SCALE * weight / length)
