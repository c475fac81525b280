"""Which works of a corpus a question searches."""

from typing import Self

from pydantic import Field, model_validator

from schemas.values.base import Value
from schemas.values.work_words import conditions_in_words

LONGEST = 200
"""Characters of a text that works are chosen by."""


class WorkFilter(Value):
    """What a work must have to be searched; every field that is given. Letters of any case are equal."""

    author: str | None = Field(default=None, min_length=1, max_length=LONGEST, repr=False)
    """A part of its authors."""
    title: str | None = Field(default=None, min_length=1, max_length=LONGEST, repr=False)
    """A part of its title."""
    tag: str | None = Field(default=None, min_length=1, max_length=LONGEST, repr=False)
    """One of its tags, whole."""
    year_from: int | None = Field(default=None, ge=-9999, le=9999)
    """The first year, inclusive; a work without a year has none."""
    year_to: int | None = Field(default=None, ge=-9999, le=9999)
    """The last year, inclusive."""

    @model_validator(mode="after")
    def _years_in_order(self) -> Self:
        if self.year_from is not None and self.year_to is not None and self.year_from > self.year_to:
            raise ValueError(f"no year is from {self.year_from} to {self.year_to}")
        return self

    @property
    def given(self) -> dict[str, str | int]:
        """The fields that are given."""
        return self.model_dump(exclude_none=True)

    def __str__(self) -> str:
        return conditions_in_words(self.given)
