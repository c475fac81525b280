"""The models of a vocabulary, built by gensim and scikit-learn."""

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schemas.errors import DomainError, FailureCategory
from schemas.values.tags import Vocabulary
from stages.ports import Vectors
from stages.tags.similarity import ContextModel, TokenModel, at_length_1, buckets_of, training_lists

_DESCRIPTION = "description"


def packed(arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> bytes:
    """The bytes of an .npz file. The same arrays and description give the same bytes."""
    text = json.dumps(description, ensure_ascii=False, sort_keys=True).encode()
    buffer = io.BytesIO()
    named: dict[str, Any] = {**arrays, _DESCRIPTION: np.frombuffer(text, dtype=np.uint8)}
    np.savez_compressed(buffer, **named)
    return buffer.getvalue()


def unpacked(data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the description. Raises DomainError for bytes that `packed` did not give."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DomainError(
            f"A model file of {len(data)} bytes cannot be read ({type(error).__name__}); index the vocabulary again.",
            FailureCategory.VOCABULARY_UNUSABLE,
        ) from error
    return arrays, description


def read_context_model(data: bytes) -> ContextModel:
    """The model in the bytes that the builder made. Raises DomainError for any other."""
    arrays, description = unpacked(data)
    return ContextModel(
        digest=hashlib.sha256(data).hexdigest(),
        terms={term: row for row, term in enumerate(description["terms"])},
        idf=arrays["idf"],
        components=arrays["components"].astype(np.float64),
        rows=arrays["rows"],
    )


def similarity_file(sentences: Vectors) -> bytes:
    """The bytes of the sentence vectors of all tokens, which are in ascending order. Raises DomainError for a vector of
    zeros or without a value."""
    if not np.isfinite(sentences).all() or not sentences.any(axis=1).all():
        raise DomainError(
            "The sentence embedder gave a vector that points nowhere; use another embedder.",
            FailureCategory.VOCABULARY_UNUSABLE,
        )
    return packed({"sentences": at_length_1(sentences).astype(np.float16)}, {})


def read_sentences(data: bytes) -> Vectors:
    """The vectors in the bytes that `similarity_file` made. Raises DomainError for any other."""
    arrays, _ = unpacked(data)
    return arrays["sentences"].astype(np.float32)


def read_token_model(data: bytes) -> TokenModel:
    """The model in the bytes that the builder made. Raises DomainError for any other."""
    arrays, description = unpacked(data)
    return TokenModel(
        digest=hashlib.sha256(data).hexdigest(),
        tokens=description["tokens"],
        vectors=arrays["vectors"],
        pieces=tuple(description["pieces"]),
        ngrams=arrays["ngrams"],
        rows={int(bucket): row for row, bucket in enumerate(arrays["buckets"])},
    )


SHORTEST_NGRAM, LONGEST_NGRAM = 2, 4


DIMENSION: Final = 100
"""Numbers per token vector. `python -m benchmarks tags` measures the quality of this and the next ones."""
_BUCKETS: Final = 50_000
"""Hash buckets of character n-grams; two n-grams may share one."""
_EPOCHS: Final = 5
_COMPONENTS: Final = 100
"""Maximum numbers per context row."""


def build_tag_models(vocabulary: Vocabulary, *, seed: int = 7) -> tuple[bytes, bytes]:
    """The files of tokens and of context. The same vocabulary and seed give the same bytes, in any process. Every tag
    and alias has a vector. Raises DomainError when there is nothing to train on."""
    if not vocabulary.tags:
        raise DomainError(
            "A vocabulary without tags has no training data; import one with tags.",
            FailureCategory.VOCABULARY_UNUSABLE,
        )
    return _tokens(vocabulary, seed), _context(vocabulary, seed)


def _tokens(vocabulary: Vocabulary, seed: int) -> bytes:
    """FastText over the training lists, on one thread, because several would not reproduce the same bytes. The mean
    of all vectors is subtracted, because all tags share it. Character n-grams are weighted by the square
    of their idf over the tokens, as query and document each contribute one in TF-IDF. The vector of a token is the
    mean of FastText's own vector and that of its n-grams, which a new word would have; then the mean of that and
    of what its tags and all of their aliases have in common, because that they mean the same is known.
    """
    from gensim.models import FastText  # type: ignore[import-untyped]

    model = FastText(
        sentences=training_lists(vocabulary, seed=seed),
        vector_size=DIMENSION,
        window=5,
        min_count=1,
        min_n=SHORTEST_NGRAM,
        max_n=LONGEST_NGRAM,
        bucket=_BUCKETS,
        epochs=_EPOCHS,
        alpha=0.1,
        sg=1,
        seed=seed,
        workers=1,
    )
    tokens = sorted(model.wv.key_to_index)
    raw = np.array([model.wv.get_vector(token) for token in tokens], dtype=np.float64)
    shared = raw.mean(axis=0)
    pieces = (SHORTEST_NGRAM, LONGEST_NGRAM, _BUCKETS)
    within = [buckets_of(token, *pieces) for token in tokens]
    tokens_with = Counter(bucket for buckets in within for bucket in set(buckets))
    known = sorted(tokens_with)
    idf = np.log(1 + len(tokens) / np.array([tokens_with[bucket] for bucket in known]))
    ngrams = np.asarray((model.wv.vectors_ngrams[known] - shared) * idf[:, np.newaxis] ** 2, dtype=np.float32)
    place = {bucket: row for row, bucket in enumerate(known)}
    composed = np.array([ngrams[[place[bucket] for bucket in buckets]].sum(axis=0) for buckets in within])
    apart = at_length_1(at_length_1(raw - shared).astype(np.float64) + at_length_1(composed))
    vectors = at_length_1(apart + _of_groups(apart, tokens, vocabulary))
    arrays: dict[str, NDArray[Any]] = {"vectors": vectors, "buckets": np.array(known), "ngrams": ngrams}
    return packed(arrays, {"tokens": tokens, "pieces": pieces})


def _context(vocabulary: Vocabulary, seed: int) -> bytes:
    """TF-IDF over the tags that each tag occurs with, including itself, reduced to the largest singular values."""
    from scipy.sparse import csr_array, diags_array  # type: ignore[import-untyped]
    from sklearn.decomposition import TruncatedSVD  # type: ignore[import-untyped]
    from sklearn.feature_extraction.text import TfidfTransformer  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    terms = sorted({tag for tags, _ in vocabulary.documents for tag in tags})
    if len(terms) < 2:
        return packed({"idf": np.empty(0), "components": np.empty((0, 0)), "rows": np.empty((0, 0))}, {"terms": []})
    column = {term: place for place, term in enumerate(terms)}
    cells = [(row, column[tag]) for row, (tags, _) in enumerate(vocabulary.documents) for tag in tags]
    shape = (len(vocabulary.documents), len(terms))
    occurs = csr_array((np.ones(len(cells)), tuple(zip(*cells, strict=True))), shape=shape)
    weights = diags_array([float(weight) for _, weight in vocabulary.documents])
    transformer = TfidfTransformer(sublinear_tf=True)
    svd = TruncatedSVD(min(_COMPONENTS, len(terms) - 1), algorithm="arpack", random_state=seed)
    with threadpool_limits(1):
        reduced = svd.fit_transform(transformer.fit_transform(csr_array(occurs.T @ weights @ occurs)))
    components = svd.components_.T.astype(np.float32)
    return packed({"idf": transformer.idf_, "components": components, "rows": at_length_1(reduced)}, {"terms": terms})


def _of_groups(vectors: Vectors, tokens: list[str], vocabulary: Vocabulary) -> Vectors:
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
    summed = np.zeros((len(tokens), vectors.shape[1]))
    np.add.at(summed, rows, at_length_1(common)[of_group])
    return at_length_1(summed)
