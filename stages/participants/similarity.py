"""Similarity of vectors, between 0 and 1."""

import numpy as np
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError
from stages.ports import Vectors


def similarities(unit_rows: Vectors, unit_query: NDArray[np.float32]) -> NDArray[np.float64]:
    """(1 + cosine) / 2 of each row with the query, all of length 1.

    1 is the same direction, 0.5 a right angle, 0 the opposite; results are clipped to 0..1. The database's search is
    tested against this function. Raises EmbeddingDimensionMismatchError when
    the query has another length than the rows, EmbeddingValidationError when a cosine is not finite.
    """
    if unit_query.shape != unit_rows.shape[1:]:
        raise EmbeddingDimensionMismatchError(expected=unit_rows.shape[1], actual=unit_query.shape[-1])
    cosines = unit_rows.astype(np.float64) @ unit_query.astype(np.float64)
    if not np.isfinite(cosines).all():
        raise EmbeddingValidationError("A cosine is not a finite number; check the vectors with `unit_rows` first.")
    return np.clip((1 + cosines) / 2, 0.0, 1.0)
