"""How near the tokens of a vocabulary are to a phrase: several sources, fused, searched in memory."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from schemas.values.tags import NearToken, Phrase, Vocabulary
from stages.ports import TokenQuery, Vector
from stages.tags.phrases import lookup_of

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
    """The documents, and each tag with its aliases, in an order set by the seed. A document of weight w appears 1 +
    floor(log2(w)) times, each time with other tags replaced. Every tag and alias is in at least one list. Of too many
    words, half are of lists of aliases, and documents are drawn at random."""
    random = Random(seed)
    aliases: dict[str, list[str]] = {}
    for alias, targets in vocabulary.aliases.items():
        for target in targets:
            aliases.setdefault(target, []).append(alias)
    repeated = [tags for tags, weight in vocabulary.documents for _ in range(1 + int(math.log2(weight)))]
    of_documents = sum(map(len, repeated))
    of_aliases = sum(1 + len(others) for others in aliases.values())
    if of_documents + alias_lists * of_aliases > max_words:
        room = max_words - min(of_documents, max_words // 2)
        alias_lists = min(alias_lists, max(1, room // max(1, of_aliases)))
        share = min(1.0, max(0, max_words - alias_lists * of_aliases) / max(1, of_documents))
        repeated = random.sample(repeated, int(share * len(repeated)))
    lists = [
        [random.choice(aliases[name]) if name in aliases and random.random() < alias_share else name for name in tags]
        for tags in repeated
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
    """Term -> its row in the three arrays."""
    idf: NDArray[np.float64]
    components: NDArray[np.float64]
    """One row per term, one column per component."""
    rows: NDArray[np.float32]
    """The context of each term at length 1; zeros for one that occurs with no other."""

    def rows_of(self, tags: Collection[str]) -> dict[str, Vector]:
        """The context rows of those of the tags that are terms."""
        return {tag: self.rows[self.terms[tag]] for tag in tags if tag in self.terms}


def term_weights(
    phrases: Sequence[Phrase], context_tags: Sequence[str], *, context_tag_weight: float
) -> dict[str, float]:
    """The weight of each term: 1 as a final phrase plus `context_tag_weight` for each time it is a context tag. Context
    tags are normalised like phrases; blank ones are dropped."""
    weights = {phrase.lookup: 1.0 for phrase in phrases}
    for lookup in filter(None, map(lookup_of, context_tags)):
        weights[lookup] = weights.get(lookup, 0.0) + context_tag_weight
    return weights


def context_vector(model: ContextModel, weights: Mapping[str, float]) -> NDArray[np.float64] | None:
    """The weighted terms times their idf, projected on the components, at length 1; None if that is all zeros. Terms
    that are not in the model do not count. Weights are raw: no logarithm is taken. The result does not depend on the
    order of the terms, to the last bit."""
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


def spelling_scores(words: str, others: Sequence[str], *, others_ordered: Sequence[str]) -> NDArray[np.float64]:
    """The square of the share of characters that need no edit, for the order of words that needs fewer.

    An edit inserts, deletes or replaces a character, or exchanges two neighbours. The square lowers the score of names
    that share half of their characters by chance. `others_ordered` have their words in alphabetical order.

    >>> spelling_scores("brest", ["breast", ""], others_ordered=["breast", ""]).round(4).tolist()
    [0.6944, 0.0]
    """
    if not words:
        return np.zeros(len(others))
    orders = ((words, others), (in_any_order(words), others_ordered))
    unedited = [cdist([one], names, scorer=OSA.normalized_similarity, dtype=np.float64)[0] for one, names in orders]
    return np.asarray(np.max(unedited, axis=0) ** 2)


class CharacterModel:
    """TF-IDF over the character n-grams of names, two to four characters long, with the space around each word. Names
    are as `plain` writes them."""

    def __init__(self, names: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]  # Loads for a second.

        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False, dtype=np.float32)
        # scikit-learn learns nothing from names without any n-gram.
        self._vectorizer.fit(names if any(map(str.split, names)) else ["a"])
        self._names = self._vectorizer.transform(names).T.tocsr()

    def knows(self, words: str) -> bool:
        """Whether a name of the vocabulary shares an n-gram with these words."""
        return bool(self._vectorizer.transform([words]).nnz)

    def cosines(self, words: str) -> NDArray[np.float32]:
        """The cosine of these words with each of the names."""
        found = (self._vectorizer.transform([words]) @ self._names).toarray()[0]
        return np.asarray(np.minimum(found, 1.0), dtype=np.float32)


CHARACTERS: Final = 0.3
"""The weight of characters in the fusion for a phrase that is no token; the sentence has the rest."""

FASTTEXT: Final = 0.6
"""The weight of FastText in the fusion for a phrase that is a token, which it has learnt; the sentence has the rest."""

_PART: Final = 250_000
"""Multiplications of a part of a product of matrices: threads of BLAS would wait long on a busy machine."""

POOL: Final = 100
"""Tokens that each source proposes, of which the fused order is exact; at least four for each one asked for."""


@dataclass(frozen=True, kw_only=True)
class TokenModel:
    """FastText reduced to the tokens of a vocabulary, searched exactly. Blocking; may be called from any thread.

    The vector of a word that is no token is the mean of its known character n-grams. Without any, or in a model without
    n-grams, it has no vector.
    """

    name: ClassVar = "fasttext"
    """The kind of model."""
    digest: str
    """The SHA-256 of its bytes."""
    tokens: Sequence[str]
    """In ascending order."""
    vectors: NDArray[np.float32]
    """One row of length 1 per token."""
    pieces: tuple[int, ...] = (0, 0, 0)
    """The shortest and the longest n-gram, and the number of buckets that they are hashed into."""
    rows: Mapping[int, int] = field(default_factory=dict)
    """Bucket -> its row in `ngrams`."""
    ngrams: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Token -> its row."""
        return {token: row for row, token in enumerate(self.tokens)}

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return int(self.vectors.shape[1])

    def cosines(self, vector: Vector, rows: slice | NDArray[np.intp] = slice(None)) -> NDArray[np.float64]:
        """The cosine of a vector of length 1 with each of the rows."""
        # Products of two float32 are exact in float64, and numpy adds them up in an order of its own, without BLAS.
        sums = np.add.reduce(self.vectors[rows] * vector.astype(np.float64), axis=1)
        return np.asarray(np.clip(sums, -1.0, 1.0))

    def nearest(self, queries: Sequence[TokenQuery], limit: int) -> list[tuple[NearToken, ...]]:
        """See NeighbourSearch, for queries with a vector alone."""
        return [self._nearest(query, limit) for query in queries]

    def _nearest(self, query: TokenQuery, limit: int) -> tuple[NearToken, ...]:
        assert query.vector is not None
        similarities = self.cosines(query.vector)
        # Rows are in the order of tokens, so a stable order by similarity leaves ties by token.
        order = np.argsort(-similarities, kind="stable")[: limit + 1]
        near = [NearToken(alias_token=self.tokens[row], score_fasttext=float(similarities[row])) for row in order]
        return tuple(one for one in near if one.alias_token != query.token)[:limit]

    def vectors_of(self, tokens: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors of length 1, by token; those that the model cannot embed are absent. Each depends on its token."""
        found = ((token, self._vector(token)) for token in tokens)
        return {token: vector for token, vector in found if vector is not None}

    def _vector(self, token: str) -> Vector | None:
        if token in self.places:
            found: Vector = self.vectors[self.places[token]]
            return found
        known = [self.rows[bucket] for bucket in buckets_of(token, *self.pieces) if bucket in self.rows]
        if not (token and known):
            return None
        mean = self.ngrams[known].astype(np.float64).mean(axis=0)
        return at_length_1(mean[np.newaxis])[0] if mean.any() else None


def buckets_of(token: str, shortest: int, longest: int, buckets: int) -> list[int]:
    """The buckets of the character n-grams of a token, by FastText's hash; none without buckets."""
    if not buckets:
        return []
    from gensim.models.fasttext import ft_ngram_hashes  # type: ignore[import-untyped]

    return [int(bucket) for bucket in ft_ngram_hashes(token, shortest, longest, buckets)]


class FusedSearch:
    """The tokens of a vocabulary, searched by all sources: each has a sentence vector of length 1, too."""

    def __init__(self, model: TokenModel, sentences: NDArray[np.float32]) -> None:
        self._model = model
        self._sentences = sentences
        self._plain = [plain(token) for token in model.tokens]
        self._ordered = [in_any_order(name) for name in self._plain]
        self.characters = CharacterModel(self._plain)

    def nearest(self, queries: Sequence[TokenQuery], limit: int) -> list[tuple[NearToken, ...]]:
        """See NeighbourSearch, for queries with a sentence vector."""
        pool = max(POOL, 4 * limit)
        sentences = _products(at_length_1(np.array([query.sentence for query in queries])), self._sentences)
        return [
            self._of(query, np.clip(near, -1.0, 1.0), pool, limit)
            for query, near in zip(queries, sentences, strict=True)
        ]

    def _of(self, query: TokenQuery, near: NDArray[np.float32], pool: int, limit: int) -> tuple[NearToken, ...]:
        words = plain(query.token)
        alike = self.characters.cosines(words)
        own = self._model.places.get(query.token)
        proposals = [_at_least(near, pool), _at_least(alike, pool)]
        if own is not None and query.vector is not None:
            proposals.append(_at_least(self._model.cosines(query.vector), pool))
        rows = np.setdiff1d(np.concatenate(proposals), [] if own is None else [own])
        by_sentence, by_characters = near[rows], alike[rows]
        by_token = None if query.vector is None else self._model.cosines(query.vector, rows)
        others, ordered = ([names[row] for row in rows] for names in (self._plain, self._ordered))
        spelt = spelling_scores(words, others, others_ordered=ordered)
        fused = np.maximum(spelt, CHARACTERS * by_characters + (1 - CHARACTERS) * by_sentence)
        if own is not None and by_token is not None:
            fused = FASTTEXT * by_token + (1 - FASTTEXT) * by_sentence
        return tuple(
            NearToken(
                alias_token=self._model.tokens[rows[at]],
                score_fasttext=None if by_token is None else float(by_token[at]),
                score_similarity=float(fused[at]),
                score_characters=float(by_characters[at]),
                score_sentence=float(by_sentence[at]),
                score_spelling=float(spelt[at]),
            )
            for at in np.argsort(-fused, kind="stable")[:limit]
        )


def at_length_1(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The rows at length 1; a row of zeros is unchanged."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.add.reduce(exact * exact, axis=1, keepdims=True))
    return np.asarray(exact / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _products(queries: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inner product of each query with each row, in parts so small that BLAS needs no second thread for them."""
    products = np.empty((len(queries), len(rows)), dtype=np.float32)
    step = max(1, _PART // max(1, queries.size))
    for start in range(0, len(rows), step):
        np.matmul(queries, rows[start : start + step].T, out=products[:, start : start + step])
    return products


def _at_least(scores: NDArray[np.floating], limit: int) -> NDArray[np.intp]:
    """The positions of the `limit` largest scores, ascending, and of all equal ones unless these are 0."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    smallest = np.partition(scores, -limit)[-limit]
    return np.flatnonzero(scores >= smallest if smallest > 0 else scores > smallest)
