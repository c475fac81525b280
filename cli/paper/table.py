"""A table for a paper, before it is written in any language."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from schemas.values.metrics import Interval
from stages.reports.numbers_in_words import bounds, number, percent, percent_bounds


class PaperTable(NamedTuple):
    """A table and what has to be known to read it. All texts are plain; whoever writes the table escapes them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    """Part of the table wherever it goes: what its numbers are made of, and caveats about them."""


def with_interval(interval: Interval, digits: int = 3) -> str:
    """A number and its interval."""
    return f"{number(interval.value, digits)} {bounds(interval, digits)}".rstrip()


def percent_with_interval(interval: Interval) -> str:
    """A share and its interval, in per cent."""
    return f"{percent(interval.value)} {percent_bounds(interval)}".rstrip()


def noticed(notices: Iterable[str]) -> Iterator[str]:
    """Caveats as notes of a table."""
    return (f"Notice: {notice}" for notice in notices)
