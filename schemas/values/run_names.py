"""The numbers and names of runs, as people write them."""

import re
from typing import Final

LONGEST_NAME: Final = 100
LONGEST_NOTE: Final = 2000

_RUN: Final = re.compile(r"r?([1-9][0-9]{0,17})", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[rj]?[0-9]+", re.IGNORECASE)


def run_number(words: str) -> int | None:
    """The number of a run; None for words that can only be a name.

    >>> run_number("r12"), run_number("12"), run_number("baseline")
    (12, 12, None)
    """
    match = _RUN.fullmatch(words.strip())
    return None if match is None else int(match[1])


def run_name(words: str) -> str | None:
    """A name of a run as it is stored; None for words that cannot be one.

    A name is one printable line, and neither a number, nor an option of a command.

    >>> run_name(" few-shot,  top 4 "), run_name("r12"), run_name("-x"), run_name("")
    ('few-shot, top 4', None, None, None)
    """
    name = " ".join(words.split())
    is_name = name.isprintable() and not name.startswith("-") and _NUMBER.fullmatch(name) is None
    return name if is_name and 0 < len(name) <= LONGEST_NAME else None
