"""What a validator says."""

from enum import StrEnum


class Decision(StrEnum):
    """A validator's word on one passage. Only `accept` keeps it."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"
