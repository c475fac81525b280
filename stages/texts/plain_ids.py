"""Ids that may appear in logs."""

import re
from typing import Final

PLAIN_ID: Final = r"^[A-Za-z0-9._:-]{1,64}$"


def is_plain_id(text: str) -> bool:
    """Whether the text can be the id of a subject: ids appear in messages, logs and Flower, and text may not.

    >>> [is_plain_id(text) for text in ("q-17", "2024.1:b", "", "why is it so", "é")]
    [True, True, False, False, False]
    """
    return re.fullmatch(PLAIN_ID, text) is not None
