"""TF-IDF over the character n-grams of names, in whole numbers, so that every machine gets the same sums."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

LENGTHS: Final = (2, 3, 4)
"""Of n-grams; the space before and after a word belongs to them."""

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

    def cosines(self, words: str, *, names: int) -> NDArray[np.float64]:
        """The cosine of these words with each of the names, of which there are `names`, in the order of rows."""
        summed = np.zeros(names)
        for ngram, weight in _weights(Counter(ngrams_of(words)), self.ngrams, self.idf):
            here = slice(self.starts[self.ngrams[ngram]], self.starts[self.ngrams[ngram] + 1])
            summed[self.names[here]] += self.weights[here].astype(np.float64) * weight
        return np.minimum(summed / SCALE**2, 1.0)


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
