"""Files of arrays that are safe to read."""

import io
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from adapters.tag_models import packed, unpacked
from schemas.errors import FailureCategory
from tests.refusals import failing

ARRAYS: dict[str, NDArray[Any]] = {"rows": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.empty((0, 3))}


def test_unpacked_arrays_are_equal_and_pack_to_the_same_bytes() -> None:
    arrays, description = unpacked(packed(ARRAYS, {"b": "ü", "a": [1]}))

    assert description == {"a": [1], "b": "ü"}
    assert {name: array.tolist() for name, array in arrays.items()} == {"rows": [[0, 1, 2], [3, 4, 5]], "none": []}
    assert packed(arrays, {"a": [1], "b": "ü"}) == packed(ARRAYS, {"b": "ü", "a": [1]})


def with_pickle() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, description=np.array([{"a": 1}], dtype=object))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"not a zip file", packed(ARRAYS, {})[:-30], pickle.dumps([1]), with_pickle()],
    ids=["empty", "text", "cut", "pickle", "pickled array"],
)
def test_other_bytes_are_refused_and_nothing_is_unpickled(data: bytes) -> None:
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "cannot be read"):
        unpacked(data)
