"""The quality of finding the tag of an alias without exact matching."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from adapters.fasttext_tokens import FastTextTokens
from adapters.tag_models import TagModelBuilder
from schemas.values.tags import Vocabulary

Pairs: TypeAlias = Sequence[tuple[str, str]]
"""Aliases, each with one of its tags."""

Similarities: TypeAlias = Callable[[Sequence[str]], np.ndarray[tuple[int, int], np.dtype[np.float64]]]
"""Returns a row per word and a column per searched token."""


class Hits(NamedTuple):
    """The share of aliases whose tag came first, and among the first ten."""

    hit_1: float
    hit_10: float


class Quality(NamedTuple):
    """One method to find tags, on one set of aliases."""

    aliases: str
    method: str
    pairs: int
    canonical: Hits
    """Among the names of tags alone."""
    projected: Hits
    """Among all tokens, other aliases leading to their tags: what the chain does."""
    seconds: float
    """To build the method."""


def measure(vocabulary: Vocabulary, *, seed: int, held_out_share: float) -> list[Quality]:
    """FastText beside character TF-IDF, on aliases that training saw and on aliases that it never saw.

    The training lists of the first hold every alias; those of the second are without the held-out ones, which are no
    tokens then either, and from which the second pair of rows is measured alone.
    """
    pairs = [(alias, tag) for alias, tags in vocabulary.aliases.items() for tag in tags]
    held_out = {alias for alias in vocabulary.aliases if alias not in {tag.name for tag in vocabulary.tags}}
    held_out = set(Random(seed).sample(sorted(held_out), round(held_out_share * len(held_out))))
    rest = {alias: tags for alias, tags in vocabulary.aliases.items() if alias not in held_out}
    without = vocabulary.model_copy(update={"aliases": rest})
    unseen = [(alias, tag) for alias, tag in pairs if alias in held_out]
    return [
        quality("seen", "fasttext", vocabulary, pairs, *_fasttext(vocabulary, seed)),
        quality("seen", "char tf-idf", vocabulary, pairs, *_char_tfidf(vocabulary)),
        quality("held out", "fasttext", without, unseen, *_fasttext(without, seed)),
        quality("held out", "char tf-idf", without, unseen, *_char_tfidf(without)),
    ]


def quality(
    aliases: str, method: str, vocabulary: Vocabulary, pairs: Pairs, similarities: Similarities, seconds: float
) -> Quality:
    """Ties count against the method."""
    tokens = _tokens(vocabulary)
    names = {tag.name for tag in vocabulary.tags}
    near = similarities([alias for alias, _ in pairs])
    canonical, projected = [], []
    for (alias, tag), row in zip(pairs, near, strict=True):
        by_name = {token: score for token, score in zip(tokens, row, strict=True) if token in names}
        by_tag: dict[str, float] = {}
        for token, score in zip(tokens, row, strict=True):
            if token != alias:
                for target in (token,) if token in names else vocabulary.aliases[token]:
                    by_tag[target] = max(score, by_tag.get(target, -1.0))
        canonical.append(_rank(by_name, tag))
        projected.append(_rank(by_tag, tag))
    return Quality(aliases, method, len(pairs), _hits(canonical), _hits(projected), seconds)


def _rank(scores: Mapping[str, float], tag: str) -> int:
    own = scores[tag]
    return sum(score >= own for score in scores.values()) if own > 0 else len(scores) + 10


def _hits(ranks: Sequence[int]) -> Hits:
    return Hits(*(sum(rank <= limit for rank in ranks) / len(ranks) for limit in (1, 10)))


def _tokens(vocabulary: Vocabulary) -> list[str]:
    return sorted({*(tag.name for tag in vocabulary.tags), *vocabulary.aliases})


def _fasttext(vocabulary: Vocabulary, seed: int) -> tuple[Similarities, float]:
    began = perf_counter()
    model = FastTextTokens(TagModelBuilder().build(vocabulary, seed=seed).tokens_file)
    seconds = perf_counter() - began
    tokens = _tokens(vocabulary)
    vectors = model.vectors_of(tokens)
    searched = np.array([vectors[token] for token in tokens], dtype=np.float64)

    def similarities(words: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        known = model.vectors_of(words)
        nothing = np.zeros(model.dimension)
        return np.array([known.get(word, nothing) for word in words], dtype=np.float64) @ searched.T

    return similarities, seconds


def _char_tfidf(vocabulary: Vocabulary) -> tuple[Similarities, float]:
    """Character 2- to 4-grams inside word boundaries, weighed over the names of tags."""
    began = perf_counter()
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit([tag.name for tag in vocabulary.tags])
    searched = vectorizer.transform(_tokens(vocabulary))
    seconds = perf_counter() - began
    return lambda words: np.asarray((vectorizer.transform(words) @ searched.T).toarray()), seconds
