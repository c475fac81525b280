"""The model of spelling and meaning of a vocabulary as the bytes of a file."""

import hashlib
from collections.abc import Sequence

import numpy as np

from adapters.npz import packed, unpacked
from schemas.errors import VocabularyModelsError
from stages.ports import Vectors
from stages.tags.characters import CharacterModel, character_model
from stages.tags.similarity import SimilarityModel, coarse_rows, main_axes, whole_numbers
from stages.tags.spelling import plain


def similarity_file(tokens: Sequence[str], sentences: Vectors) -> bytes:
    """The bytes of a model of tokens, in ascending order, with one sentence vector each.

    Raises VocabularyModelsError for a vector of zeros or without a value.
    """
    if not np.isfinite(sentences).all() or not sentences.any(axis=1).all():
        raise VocabularyModelsError("The sentence embedder gave a vector that points nowhere; use another embedder.")
    axes = main_axes(sentences)
    characters = character_model([plain(token) for token in tokens])
    return packed(
        {
            "idf": characters.idf,
            "starts": characters.starts,
            "names": characters.names,
            "weights": characters.weights,
            "sentences": whole_numbers(sentences),
            "axes": axes,
            "coarse": coarse_rows(sentences, axes),
        },
        {"tokens": list(tokens), "ngrams": list(characters.ngrams)},
    )


def read_similarity_model(data: bytes) -> SimilarityModel:
    """The model in the bytes that `similarity_file` made. Raises VocabularyModelsError for any other."""
    arrays, description = unpacked(data)
    return SimilarityModel(
        digest=hashlib.sha256(data).hexdigest(),
        tokens=description["tokens"],
        characters=CharacterModel(
            ngrams={ngram: place for place, ngram in enumerate(description["ngrams"])},
            idf=arrays["idf"],
            starts=arrays["starts"],
            names=arrays["names"],
            weights=arrays["weights"],
        ),
        sentences=arrays["sentences"],
        axes=arrays["axes"],
        coarse=arrays["coarse"],
    )
