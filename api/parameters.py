"""Ids and texts as requests bring them, to resources and pages alike."""

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BeforeValidator

from schemas.values.base import MAX_ID, Text


def _digits(text: Any) -> Any:
    if isinstance(text, str) and not (text.isascii() and text.isdecimal()):
        raise ValueError("a number has only digits")
    return text


PathId = Annotated[int, BeforeValidator(_digits), Path(ge=1, le=MAX_ID, examples=[12])]
"""The number of a thing, in its address."""

SearchWords = Annotated[Text, Query(max_length=200, examples=["baseline failed"])]
"""The words of a search."""


def next_offset(offset: int, shown: int, total: int) -> int | None:
    """The offset of the next part of a list; None after the last, and after an empty one.

    >>> next_offset(0, 2, 3), next_offset(2, 1, 3), next_offset(9, 0, 3)
    (2, None, None)
    """
    end = offset + shown
    return end if shown and end < total else None
