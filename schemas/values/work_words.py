"""The conditions of the works that a question searches, in words."""

from collections.abc import Mapping


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
