"""What a mistyped name was probably meant to be."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

#: The share of equal letters, in order, from which a name counts as a misspelling of another.
_SIMILAR = 0.6


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to this one, in any case of letters; None when none is near. A name that continues
    this one is near; of equally near names the first is taken.

    >>> nearest("paper", ["train", "paper-test"]), nearest("Shlef", ["default", "shelf"]), nearest("x", ["shelf"])
    ('paper-test', 'shelf', None)
    """
    # Loaded only after a mistake: a command that is typed correctly starts without it.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    names = list(known)
    lowered = [one.lower() for one in names]
    found = process.extractOne(name.lower(), lowered, scorer=OSA.normalized_similarity, score_cutoff=_SIMILAR)
    if found is not None:
        return names[found[2]]
    continued = [one for one, low in zip(names, lowered, strict=True) if name and low.startswith(name.lower())]
    return continued[0] if continued else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The question that follows a sentence about an unknown name, after a space; empty when no known name is near.

    >>> did_you_mean("shelff", ["shelf"]), did_you_mean("library", ["shelf"])
    (" Did you mean 'shelf'?", '')
    """
    meant = nearest(name, known)
    return "" if meant is None else f" Did you mean '{meant}'?"


AGE_PATTERN: Final = r"^[0-9]{1,5}[hdw]$"

_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta | None:
    """The time span of a text; None for a text that is no age.

    >>> age("26w")
    datetime.timedelta(days=182)
    """
    if not re.fullmatch(AGE_PATTERN, text):
        return None
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
