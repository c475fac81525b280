"""Vectors of an embedder, checked, cut and normalised."""

import numpy as np
import pytest

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError, FailureCategory
from stages.vectors import unit_rows


def test_rows_are_cut_and_then_normalised_and_shorter_ones_are_a_mismatch() -> None:
    # (3, 4, 12) has length 13; cut to two numbers its length is 5. The squares of large numbers overflow.
    matrix = np.array([[3, 4, 12], [0, 2, 1], [3e38, 0, 0]], dtype=np.float32)

    rows = unit_rows(matrix, rows=3, dimension=2)

    assert rows.tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(EmbeddingDimensionMismatchError, match="of 4 dimensions, got 3"):
        unit_rows(np.ones((1, 3), dtype=np.float32), rows=1, dimension=4)


@pytest.mark.parametrize(
    ("bad", "found", "category"),
    [
        ([1, np.nan], "NaN", FailureCategory.EMBEDDING_NAN),
        ([np.inf, 1], "infinite numbers", FailureCategory.EMBEDDING_INF),
        ([0, 0], "only zeros", FailureCategory.EMBEDDING_ZERO_VECTOR),
        ([1e-9, -1e-9], "only zeros", FailureCategory.EMBEDDING_ZERO_VECTOR),
    ],
)
def test_a_vector_that_points_nowhere_is_refused(bad: list[float], found: str, category: FailureCategory) -> None:
    with pytest.raises(EmbeddingValidationError, match=f"Vector 2 of 2 has {found}") as caught:
        unit_rows(np.array([[1, 0], bad], dtype=np.float32), rows=2)

    assert caught.value.category is category


@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (3,), (2, 1, 3)])
def test_another_number_of_rows_than_texts_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EmbeddingValidationError, match="asked for 2 vectors and gave an array of shape"):
        unit_rows(np.ones(shape, dtype=np.float32), rows=2)
