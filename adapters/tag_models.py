"""The models of a vocabulary, built by gensim and scikit-learn."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adapters.context_file import context_file
from adapters.fasttext_tokens import buckets_of, tokens_file
from schemas.errors import VocabularyModelsError
from schemas.values.tags import Vocabulary
from stages.tags.models import BuiltModels, TokenModel
from stages.tags.ports import Vector
from stages.tags.training_lists import training_lists

FASTTEXT = "fasttext"


@dataclass(frozen=True, kw_only=True)
class TagModelBuilder:
    """Builds the models of a vocabulary. `python -m benchmarks tags` measures the quality of the defaults."""

    dimension: int = 100
    """Numbers per token vector."""
    shortest_ngram: int = 2
    longest_ngram: int = 4
    buckets: int = 50_000
    """Hash buckets of character n-grams; two n-grams may share one."""
    epochs: int = 5
    learning_rate: float = 0.1
    components: int = 100
    """Maximum numbers per context row."""

    def build(self, vocabulary: Vocabulary, *, seed: int, tokens: TokenModel | None = None) -> BuiltModels:
        """The models. The same vocabulary and seed give the same bytes, in any process.

        Every tag and alias has a vector. With `tokens` no token model is trained, and its vectors are used. Raises
        VocabularyModelsError when there is nothing to train on.
        """
        if not vocabulary.tags:
            raise VocabularyModelsError("A vocabulary without tags has no training data; import one with tags.")
        placed = self._tokens(vocabulary, seed) if tokens is None else tokens
        rows, context = self._context(vocabulary, seed)
        return BuiltModels(
            name=placed.name,
            dimension=placed.dimension,
            vectors=placed.vectors,
            context_rows=rows,
            tokens_file=placed.tokens_file,
            context_file=context,
        )

    def _tokens(self, vocabulary: Vocabulary, seed: int) -> TokenModel:
        """FastText over the training lists, on one thread, because several would not reproduce the same bytes.

        The mean of all vectors is subtracted, because all tags share it. Character n-grams are weighted by the square
        of their idf over the tokens, as query and document each contribute one in TF-IDF. The vector of a token is the
        mean of FastText's own vector and that of its n-grams, which a new word would have; then the mean of that and
        of what its tags and all of their aliases have in common, because that they mean the same is known.
        """
        from gensim.models import FastText  # type: ignore[import-untyped]

        model = FastText(
            sentences=training_lists(vocabulary, seed=seed),
            vector_size=self.dimension,
            window=5,
            min_count=1,
            min_n=self.shortest_ngram,
            max_n=self.longest_ngram,
            bucket=self.buckets,
            epochs=self.epochs,
            alpha=self.learning_rate,
            sg=1,
            seed=seed,
            workers=1,
        )
        tokens = sorted(model.wv.key_to_index)
        raw = np.array([model.wv.get_vector(token) for token in tokens], dtype=np.float64)
        shared = raw.mean(axis=0)
        pieces = (self.shortest_ngram, self.longest_ngram, self.buckets)
        within = [buckets_of(token, *pieces) for token in tokens]
        tokens_with = Counter(bucket for buckets in within for bucket in set(buckets))
        known = sorted(tokens_with)
        idf = np.log(1 + len(tokens) / np.array([tokens_with[bucket] for bucket in known]))
        ngrams = np.asarray((model.wv.vectors_ngrams[known] - shared) * idf[:, np.newaxis] ** 2, dtype=np.float32)
        place = {bucket: row for row, bucket in enumerate(known)}
        composed = np.array([ngrams[[place[bucket] for bucket in buckets]].sum(axis=0) for buckets in within])
        apart = _unit_rows(_unit_rows(raw - shared).astype(np.float64) + _unit_rows(composed)).astype(np.float64)
        vectors = _unit_rows(apart + _of_groups(apart, tokens, vocabulary))
        data = tokens_file(FASTTEXT, tokens, vectors, pieces=pieces, buckets=known, ngrams=ngrams)
        return TokenModel(FASTTEXT, self.dimension, dict(zip(tokens, vectors, strict=True)), data)

    def _context(self, vocabulary: Vocabulary, seed: int) -> tuple[Mapping[str, Vector], bytes]:
        """TF-IDF over the tags that each tag occurs with, including itself, reduced to the largest singular values."""
        from scipy.sparse import csr_array, diags_array  # type: ignore[import-untyped]
        from sklearn.decomposition import TruncatedSVD  # type: ignore[import-untyped]
        from sklearn.feature_extraction.text import TfidfTransformer  # type: ignore[import-untyped]
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        terms = sorted({tag for document in vocabulary.documents for tag in document.tags})
        if len(terms) < 2:
            return {}, context_file([], np.empty(0), np.empty((0, 0)))
        column = {term: place for place, term in enumerate(terms)}
        cells = [(row, column[tag]) for row, document in enumerate(vocabulary.documents) for tag in document.tags]
        shape = (len(vocabulary.documents), len(terms))
        occurs = csr_array((np.ones(len(cells)), tuple(zip(*cells, strict=True))), shape=shape)
        weights = diags_array([float(document.weight) for document in vocabulary.documents])
        transformer = TfidfTransformer(sublinear_tf=True)
        svd = TruncatedSVD(min(self.components, len(terms) - 1), algorithm="arpack", random_state=seed)
        with threadpool_limits(1):
            reduced = svd.fit_transform(transformer.fit_transform(csr_array(occurs.T @ weights @ occurs)))
        lengths = np.linalg.norm(reduced, axis=1)
        rows = {term: row for term, row, length in zip(terms, _unit_rows(reduced), lengths, strict=True) if length > 0}
        return rows, context_file(terms, transformer.idf_, svd.components_.T)


def _of_groups(vectors: NDArray[np.float64], tokens: list[str], vocabulary: Vocabulary) -> NDArray[np.float64]:
    """For each token the mean direction of its tags, each with all of its aliases, at length 1."""
    place = {token: row for row, token in enumerate(tokens)}
    groups = {tag.name: number for number, tag in enumerate(vocabulary.tags)}
    members = [(place[name], group) for name, group in groups.items()]
    # A name of a tag stands for that tag alone, although it may be an alias of others.
    members += [
        (place[alias], groups[target])
        for alias, targets in vocabulary.aliases.items()
        if alias not in groups
        for target in targets
    ]
    rows, of_group = np.array(members).T
    common = np.zeros((len(groups), vectors.shape[1]))
    np.add.at(common, of_group, vectors[rows])
    summed = np.zeros_like(vectors)
    np.add.at(summed, rows, _unit_rows(common).astype(np.float64)[of_group])
    return _unit_rows(summed).astype(np.float64)


def _unit_rows(matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """The rows at length 1; a row of zeros is unchanged."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
