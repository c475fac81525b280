"""Imported vectors of tokens, reduced to the tokens of a vocabulary."""

import struct
from pathlib import Path
from typing import Any, Final

import numpy as np

from adapters.fasttext_tokens import buckets_of, tokens_file
from schemas.errors import Refused
from schemas.values.tags import VectorLayout, Vocabulary
from stages.tags.models import TokenModel

_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
"""How files start that joblib compressed."""


def imported_vectors(path: Path, layout: VectorLayout, vocabulary: Vocabulary) -> TokenModel:
    """The vectors of the vocabulary's tags and aliases, at length 1, and their n-grams.

    Tokens that are not in the file, or are zeros there, have no vector. Raises Refused when the file cannot be read in
    this layout, or has none of the tokens.
    """
    try:
        _refuse_pickle(path)
        model = _read(path, layout)
    except (OSError, ValueError, EOFError, NotImplementedError, AssertionError, struct.error) as error:
        raise Refused(f"{path} cannot be read as {layout.value} ({type(error).__name__}); name its layout.") from error
    wanted = sorted({*(tag.name for tag in vocabulary.tags), *vocabulary.aliases})
    rows = {token: np.asarray(model.get_vector(token), dtype=np.float64) for token in wanted if token in model}
    vectors = {
        token: np.asarray(row / np.linalg.norm(row), dtype=np.float32) for token, row in rows.items() if row.any()
    }
    if not vectors:
        raise Refused(f"{path} has none of the {len(wanted)} tags and aliases; it belongs to another vocabulary.")
    matrix = np.array(list(vectors.values()))
    if layout is not VectorLayout.FASTTEXT:
        return TokenModel(layout.value, matrix.shape[1], vectors, tokens_file(layout.value, list(vectors), matrix))
    pieces = (int(model.min_n), int(model.max_n), int(model.bucket))
    known = sorted({bucket for token in vectors for bucket in buckets_of(token, *pieces)})
    ngrams = np.asarray(model.vectors_ngrams[known], dtype=np.float32)
    data = tokens_file(layout.value, list(vectors), matrix, pieces=pieces, buckets=known, ngrams=ngrams)
    return TokenModel(layout.value, matrix.shape[1], vectors, data)


def _refuse_pickle(path: Path) -> None:
    """Raise Refused for a file of pickle, compress-fasttext or joblib: reading one runs the code in it."""
    with path.open("rb") as file:
        start = file.read(2)
    if start[:1] == b"\x80" or start in _ZLIB:
        raise Refused(
            f"{path} is a pickle, as compress-fasttext and joblib write them. ragq reads none: that would run the code "
            "in it. Write its vectors as word2vec text, as 'Files of the original' of docs/tags.md describes."
        )


def _read(path: Path, layout: VectorLayout) -> Any:
    from gensim.models import KeyedVectors  # type: ignore[import-untyped]
    from gensim.models.fasttext import load_facebook_vectors  # type: ignore[import-untyped]

    if layout is VectorLayout.FASTTEXT:
        return load_facebook_vectors(str(path))
    return KeyedVectors.load_word2vec_format(str(path), binary=layout is VectorLayout.WORD2VEC_BINARY)
