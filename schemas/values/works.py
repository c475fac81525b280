"""Which works of a corpus a question searches: the conditions, in words and as they are typed."""

from collections.abc import Mapping
from typing import Final, Self

from pydantic import Field, model_validator

from schemas.values.base import Value

_SIGNS: Final = {"author": "author=", "title": "title=", "tag": "tag=", "year_from": "year>=", "year_to": "year<="}


def conditions_in_words(given: Mapping[str, str | int]) -> str:
    """The given fields of a `WorkFilter` in words; nothing for none.

    >>> conditions_in_words({"author": "leaf", "year_from": 2001})
    "author has 'leaf', year 2001 or later"
    """
    words = {"author": "author has '{}'", "title": "title has '{}'", "tag": "tag '{}'"}
    texts = [words[name].format(value) for name, value in given.items() if name in words]
    match given.get("year_from"), given.get("year_to"):
        case None, None:
            years = []
        case first, None:
            years = [f"year {first} or later"]
        case None, last:
            years = [f"year {last} or earlier"]
        case first, last:
            years = [f"year {first}" if first == last else f"year {first} to {last}"]
    return ", ".join([*texts, *years])


def conditions_of(given: Mapping[str, str | int]) -> list[str]:
    """The given fields of a `WorkFilter` as conditions that make it.

    >>> conditions_of({"tag": "green tea", "year_to": 2001, "year_from": 2001})
    ['tag=green tea', 'year>=2001', 'year<=2001']
    """
    return [f"{sign}{given[name]}" for name, sign in _SIGNS.items() if name in given]


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
