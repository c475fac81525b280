"""The model of spelling and meaning of a vocabulary as the bytes of a file."""

import hashlib
from collections.abc import Sequence

import numpy as np

from adapters.npz import packed, unpacked
from schemas.errors import VocabularyModelsError
from stages.ports import Vectors
from stages.tags.characters import CharacterModel
from stages.tags.similarity import SimilarityModel, at_length_1
from stages.tags.spelling import plain


def similarity_file(tokens: Sequence[str], sentences: Vectors) -> bytes:
    """The bytes of a model of tokens, in ascending order, with one sentence vector each.

    Raises VocabularyModelsError for a vector of zeros or without a value.
    """
    if not np.isfinite(sentences).all() or not sentences.any(axis=1).all():
        raise VocabularyModelsError("The sentence embedder gave a vector that points nowhere; use another embedder.")
    return packed({"sentences": at_length_1(sentences).astype(np.float16)}, {"tokens": list(tokens)})


def read_similarity_model(data: bytes) -> SimilarityModel:
    """The model in the bytes that `similarity_file` made. Raises VocabularyModelsError for any other."""
    arrays, description = unpacked(data)
    tokens = description["tokens"]
    return SimilarityModel(
        digest=hashlib.sha256(data).hexdigest(),
        tokens=tokens,
        characters=CharacterModel([plain(token) for token in tokens]),
        sentences=arrays["sentences"].astype(np.float32),
    )
