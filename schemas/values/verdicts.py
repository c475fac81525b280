"""The decisions of validators."""

from enum import StrEnum


class Decision(StrEnum):
    """A validator's decision on one passage. Only `accept` keeps it."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"
