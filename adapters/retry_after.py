"""What the replies of servers have beside their content: when to come back, and vectors as a matrix."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx
import numpy as np

from schemas.errors import EmbeddingValidationError
from stages.ports import Vectors

LONGEST_S: Final = 3600.0
"""A server is asked again after this time in any case."""


def retry_after_s(response: httpx.Response) -> float | None:
    """The seconds after which a server wants to be asked again, at most an hour; None where it names none.

    The header is a number of seconds or a date, which is compared with the clock of the server where it sent its Date.

    >>> [retry_after_s(httpx.Response(429, headers={"retry-after": text})) for text in ("20", "1e9", "soon")]
    [20.0, 3600.0, None]
    """
    text = response.headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        seconds = (until - (_date(response.headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_S)


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def matrix_of(rows: Sequence[Sequence[float]], *, model: str, texts: int) -> Vectors:
    """One row per text. Raises EmbeddingValidationError for another number of rows, and for rows of several lengths."""
    if len(rows) != texts:
        raise EmbeddingValidationError(f"{model} returned {len(rows)} vectors for {texts} texts.")
    if len({len(row) for row in rows}) != 1:
        raise EmbeddingValidationError(f"{model} returned vectors of different dimensions.")
    return np.asarray(rows, dtype=np.float32)
