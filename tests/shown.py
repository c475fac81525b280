"""What is shown to people, as snapshots that a reviewer reads in the diff.

pytest --snapshot-update writes them again.
"""

import re
from typing import Final

#: What differs from run to run.
_CHANGING: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms)\b"), "SECONDS"),
    (re.compile(r"ragq \d+\.\d+\.\d+\S*"), "ragq VERSION"),
    (re.compile(r" +$", re.MULTILINE), ""),
)


def as_read(text: str) -> str:
    """A text with words for what differs from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text
