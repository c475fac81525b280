"""Arrays and a description in one file that is read and written without pickle."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import VocabularyModelsError

_DESCRIPTION = "description"


class Unpacked(NamedTuple):
    """What a file holds."""

    arrays: dict[str, NDArray[Any]]
    description: dict[str, Any]


def packed(arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> bytes:
    """The bytes of an .npz file. The same arrays and description give the same bytes."""
    text = json.dumps(description, ensure_ascii=False, sort_keys=True).encode()
    buffer = io.BytesIO()
    named: dict[str, Any] = {**arrays, _DESCRIPTION: np.frombuffer(text, dtype=np.uint8)}
    np.savez_compressed(buffer, **named)
    return buffer.getvalue()


def unpacked(data: bytes) -> Unpacked:
    """The arrays and the description. Raises VocabularyModelsError for bytes that `packed` did not give."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise VocabularyModelsError(
            f"A model file of {len(data)} bytes cannot be read ({type(error).__name__}); index the vocabulary again."
        ) from error
    return Unpacked(arrays, description)
