"""(1 + cosine) / 2."""

import numpy as np
import pytest

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError
from stages.participants.retrieve import similarities


def test_similarity_is_one_for_the_same_half_for_a_right_angle_and_zero_for_the_opposite() -> None:
    rows = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], dtype=np.float32)

    # (1 + 0.6) / 2 = 0.8
    assert similarities(rows, np.array([1, 0], dtype=np.float32)) == pytest.approx([1.0, 0.5, 0.0, 0.8])


def test_a_query_of_another_dimension_is_a_mismatch() -> None:
    with pytest.raises(EmbeddingDimensionMismatchError) as caught:
        similarities(np.ones((1, 3), dtype=np.float32), np.ones(2, dtype=np.float32))

    assert (caught.value.expected, caught.value.actual) == (3, 2)


def test_a_cosine_that_is_no_number_is_refused() -> None:
    with pytest.raises(EmbeddingValidationError, match="not a finite number"):
        similarities(np.array([[np.nan]], dtype=np.float32), np.array([1], dtype=np.float32))
