"""The context model as the bytes of a file."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adapters.npz import packed, unpacked
from stages.tags.context import ContextModel


def context_file(terms: Sequence[str], idf: NDArray[Any], components: NDArray[Any]) -> bytes:
    """The bytes of a model with one idf and one row of components per term."""
    arrays: dict[str, NDArray[Any]] = {
        "idf": np.asarray(idf, dtype=np.float64),
        "components": np.asarray(components, dtype=np.float32),
    }
    return packed(arrays, {"terms": list(terms)})


def read_context_model(data: bytes) -> ContextModel:
    """The model in the bytes that `context_file` made. Raises VocabularyModelsError for any other."""
    arrays, description = unpacked(data)
    return ContextModel(
        digest=hashlib.sha256(data).hexdigest(),
        terms={term: row for row, term in enumerate(description["terms"])},
        idf=arrays["idf"],
        components=arrays["components"].astype(np.float64),
    )
