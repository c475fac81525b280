"""The text of works for the stages of a query."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from schemas.errors import Refused, WorkChangedError
from schemas.suggestions import did_you_mean
from schemas.values.documents import WorkFilter


class WorkName(NamedTuple):
    """What a source is called by."""

    title: str
    corpus: str
    """The name of the corpus that has the work."""


class WorkText(NamedTuple):
    """The stored markdown of a work."""

    title: str
    content_hash: str
    """SHA-256 of the markdown."""
    lines: Sequence[str]
    """Without line ends; line numbers start at 1."""
    page_lines: Sequence[int] = ()
    """The line at which each page begins; empty for a work without pages."""


def refuse_changed(works: Mapping[int, WorkText], hashes: Mapping[int, str]) -> None:
    """Raise WorkChangedError for the first work that is deleted or has another hash than the given one."""
    for work_id, content_hash in sorted(hashes.items()):
        if work_id not in works or works[work_id].content_hash != content_hash:
            raise WorkChangedError(work_id)


FIELDS: Final = ("author", "title", "tag", "year")

_CONDITION: Final = re.compile(r"(\w+)\s*(>=|<=|=|>|<)\s*(.*)", re.DOTALL)
_YEARS: Final = {
    "=": lambda year: {"year_from": year, "year_to": year},
    ">=": lambda year: {"year_from": year},
    "<=": lambda year: {"year_to": year},
    ">": lambda year: {"year_from": year + 1},
    "<": lambda year: {"year_to": year - 1},
}


def work_filter(conditions: Iterable[str]) -> WorkFilter:
    """The filter that all conditions together make.

    Raises Refused for a condition that cannot be read, an unknown field, one that is given twice, and a year that is
    none.

    >>> str(work_filter(["author=Leaf", "year>=2001", "year<2010"]))
    "author has 'Leaf', year 2001 to 2009"
    """
    fields: dict[str, Any] = {}
    for condition in conditions:
        for name, value in _fields(condition).items():
            if name in fields:
                raise Refused(f"Works are filtered by `{name.replace('_', ' ')}` twice; give each condition once.")
            fields[name] = value
    return filter_of(fields)


def filter_of(fields: dict[str, Any]) -> WorkFilter:
    """The filter of these fields. Raises Refused for a value that cannot be used."""
    try:
        return WorkFilter(**fields)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        field = problem["loc"][0] if problem["loc"] else "year"
        message = problem["msg"].removeprefix("Value error, ")
        raise Refused(f"Works cannot be filtered by this {str(field).replace('_', ' ')}: {message}.") from None


def _fields(condition: str) -> dict[str, Any]:
    found = _CONDITION.fullmatch(condition.strip())
    if found is None:
        raise Refused(
            "Conditions on works are written like author=Leaf, title=tea, tag=green, year=2001 or year>=2001."
        )
    name, sign, value = found[1][:50], found[2], found[3]
    if name not in FIELDS:
        known = ", ".join(FIELDS)
        raise Refused(f"Works have no field '{name}' to filter by; there are {known}.{did_you_mean(name, FIELDS)}")
    if name != "year":
        if sign != "=":
            raise Refused(f"`{name}` is compared by =, as in {name}=tea; only year takes {sign}.")
        return {name: value}
    if not re.fullmatch(r"-?[0-9]{1,4}", value):
        raise Refused("A year is a whole number, as in year>=2001.")
    return _YEARS[sign](int(value))
