"""The conditions of the works that a question searches, in words and as they are typed."""

from collections.abc import Mapping
from typing import Final

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
