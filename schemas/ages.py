"""Ages as people write them: `12h`, `90d`, `26w`."""

import re
from datetime import timedelta
from typing import Final

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
