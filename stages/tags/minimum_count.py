"""The least count of tags, where a run leaves it to the vocabulary."""

from typing import Final

USUAL: Final = 100
"""The minimum of the original application."""

SHARE: Final = 0.95
"""The share of a vocabulary's tags that must reach the usual minimum for it to apply."""


def least_count(*, tags: int, reaching: int) -> int:
    """The usual minimum if `reaching` of `tags` tags have it, and they are nearly all; otherwise 0, which drops none.

    >>> least_count(tags=100, reaching=95), least_count(tags=100, reaching=94), least_count(tags=0, reaching=0)
    (100, 0, 0)
    """
    return USUAL if tags and reaching >= SHARE * tags else 0
