"""The models of a vocabulary."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from schemas.values.tags import Phrase, Vocabulary
from stages.tags.phrases import lookup_of
from stages.tags.ports import Vector


class SentenceModel(NamedTuple):
    """The sentence embedder of a vocabulary, which embeds phrases too."""

    backend: str
    """Where it runs, as EMBEDDING_BACKEND."""
    model: str
    digest: str
    """Of its weights; empty if its server reports none."""


class TokenModel(NamedTuple):
    """A model that embeds tokens, reduced to those of a vocabulary."""

    name: str
    """The kind of model."""
    dimension: int
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1."""
    tokens_file: bytes


@dataclass(frozen=True, kw_only=True)
class BuiltModels:
    """The models of a vocabulary: the vectors to search, and the bytes of the files that embed requests."""

    name: str
    """The kind of model that embeds the tokens."""
    dimension: int
    """Numbers per token vector."""
    vectors: Mapping[str, Vector]
    """Token -> its vector of length 1. Names of tags and aliases are both tokens."""
    context_rows: Mapping[str, Vector]
    """Tag -> its row of length 1; tags that occur with no other have none."""
    tokens_file: bytes
    context_file: bytes
    similarity_file: bytes | None = None
    """Spelling and meaning of the tokens; None without a sentence embedder."""
    sentences: SentenceModel | None = None
    """What embedded the names for it."""


ALIAS_SHARE = 0.1
"""The share of tags in documents that are replaced by one of their aliases."""

ALIAS_LISTS = 50
"""The maximum number of lists of a tag with all of its aliases."""

MAX_WORDS = 400_000
"""About as many words are in all lists together at most, however large the vocabulary is: time grows with words."""


def training_lists(
    vocabulary: Vocabulary,
    *,
    seed: int,
    alias_share: float = ALIAS_SHARE,
    alias_lists: int = ALIAS_LISTS,
    max_words: int = MAX_WORDS,
) -> list[list[str]]:
    """The documents, and each tag with its aliases, in an order set by the seed.

    A document of weight w appears 1 + floor(log2(w)) times, each time with other tags replaced. Every tag and alias is
    in at least one list. Of too many words, half are of lists of aliases, and documents are drawn at random.
    """
    random = Random(seed)
    aliases: dict[str, list[str]] = {}
    for alias, targets in vocabulary.aliases.items():
        for target in targets:
            aliases.setdefault(target, []).append(alias)
    repeated = [document for document in vocabulary.documents for _ in range(1 + int(math.log2(document.weight)))]
    of_documents = sum(len(document.tags) for document in repeated)
    of_aliases = sum(1 + len(others) for others in aliases.values())
    if of_documents + alias_lists * of_aliases > max_words:
        room = max_words - min(of_documents, max_words // 2)
        alias_lists = min(alias_lists, max(1, room // max(1, of_aliases)))
        share = min(1.0, max(0, max_words - alias_lists * of_aliases) / max(1, of_documents))
        repeated = random.sample(repeated, int(share * len(repeated)))
    lists = [
        [
            random.choice(aliases[name]) if name in aliases and random.random() < alias_share else name
            for name in document.tags
        ]
        for document in repeated
    ]
    for tag in vocabulary.tags:
        lists += [[tag.name, *aliases.get(tag.name, ())] for _ in range(alias_lists if tag.name in aliases else 1)]
    for words in lists:
        random.shuffle(words)
    random.shuffle(lists)
    return lists


@dataclass(frozen=True, kw_only=True)
class ContextModel:
    """TF-IDF with a truncated singular value decomposition: the part that a request needs."""

    digest: str
    """The SHA-256 of its bytes."""
    terms: Mapping[str, int]
    """Term -> its row in the two arrays."""
    idf: NDArray[np.float64]
    components: NDArray[np.float64]
    """One row per term, one column per component."""


def term_weights(
    phrases: Sequence[Phrase], context_tags: Sequence[str], *, context_tag_weight: float
) -> dict[str, float]:
    """The weight of each term: 1 as a final phrase plus `context_tag_weight` for each time it is a context tag.

    Context tags are normalised like phrases; blank ones are dropped.
    """
    weights = {phrase.lookup: 1.0 for phrase in phrases}
    for lookup in filter(None, map(lookup_of, context_tags)):
        weights[lookup] = weights.get(lookup, 0.0) + context_tag_weight
    return weights


def context_vector(model: ContextModel, weights: Mapping[str, float]) -> NDArray[np.float64] | None:
    """The weighted terms times their idf, projected on the components, at length 1; None if that is all zeros.

    Terms that are not in the model do not count. Weights are raw: no logarithm is taken. The result does not depend on
    the order of the terms, to the last bit.
    """
    summed = np.zeros(model.components.shape[1])
    for term in sorted(weights.keys() & model.terms.keys()):
        row = model.terms[term]
        summed += weights[term] * model.idf[row] * model.components[row]
    length = float(np.linalg.norm(summed))
    return summed / length if length > 0 else None


def context_score(context: NDArray[np.float64], row: Vector) -> float | None:
    """The cosine of the request's context and a tag's row; None if the row is all zeros."""
    exact = row.astype(np.float64)
    length = float(np.linalg.norm(exact))
    return None if length == 0 else min(1.0, max(-1.0, float(exact @ context) / length))


_BETWEEN_WORDS: Final = re.compile(r"[\s_,;:/'\"()\-\u2010-\u2015]+")


def plain(name: str) -> str:
    """The words of a name in lower case, with single spaces between them and no punctuation that only divides words.

    >>> plain("Heart,_Diseases_of"), plain("c++"), plain("3d-printing")
    ('heart diseases of', 'c++', '3d printing')
    """
    return " ".join(_BETWEEN_WORDS.sub(" ", name.lower()).split())


def in_any_order(words: str) -> str:
    """The words in alphabetical order, so that an inverted heading is spelt as the plain one.

    >>> in_any_order("heart diseases of") == in_any_order("diseases of heart")
    True
    """
    return " ".join(sorted(words.split()))


def spelling_scores(
    words: str, others: Sequence[str], *, ordered: str, others_ordered: Sequence[str]
) -> NDArray[np.float64]:
    """The square of the share of characters that need no edit, for the order of words that needs fewer.

    An edit inserts, deletes or replaces a character, or exchanges two neighbours. The square lowers the score of names
    that share half of their characters by chance. `ordered` are the words in alphabetical order.

    >>> spelling_scores("brest", ["breast", ""], ordered="brest", others_ordered=["breast", ""]).round(4).tolist()
    [0.6944, 0.0]
    """
    as_written = _unedited(words, others)
    return np.asarray(np.maximum(as_written, _unedited(ordered, others_ordered)) ** 2)


def _unedited(words: str, others: Sequence[str]) -> NDArray[np.float64]:
    if not words:
        return np.zeros(len(others))
    return np.asarray(cdist([words], others, scorer=OSA.normalized_similarity, dtype=np.float64)[0])
