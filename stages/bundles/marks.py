"""The mark in the place of a text that a bundle lacks."""

import json
from typing import Any, Final

WITHHELD: Final = "[withheld]"
"""In the place of a text."""


def has_withheld(value: Any) -> bool:
    """Whether a text of a JSON value was withheld.

    >>> has_withheld({"evidence": ["[withheld]"]}), has_withheld({"[withheld 1]": 2}), has_withheld(None)
    (True, True, False)
    """
    return "[withheld" in json.dumps(value)
