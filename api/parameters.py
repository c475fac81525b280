"""Ids and texts as requests bring them, to resources and pages alike."""

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import StringConstraints

#: The largest number that the database can give.
MAX_ID: Final = 2**63 - 1

PathId = Annotated[int, Path(ge=1, le=MAX_ID, examples=[12])]
"""The number of a thing, in its address."""

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
"""A text that can be stored: Postgres takes every character but NUL."""

SearchWords = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$"), Query(examples=["baseline failed"])
]
"""The words of a search."""
