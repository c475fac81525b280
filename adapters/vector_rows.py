"""The vectors that a server returned for texts, as a matrix."""

from collections.abc import Sequence

import numpy as np

from schemas.errors import EmbeddingValidationError
from stages.ports import Vectors


def matrix_of(rows: Sequence[Sequence[float]], *, model: str, texts: int) -> Vectors:
    """One row per text. Raises EmbeddingValidationError for another number of rows, and for rows of several lengths."""
    if len(rows) != texts:
        raise EmbeddingValidationError(f"{model} returned {len(rows)} vectors for {texts} texts.")
    if len({len(row) for row in rows}) != 1:
        raise EmbeddingValidationError(f"{model} returned vectors of different dimensions.")
    return np.asarray(rows, dtype=np.float32)
