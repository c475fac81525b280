"""What a check found."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

_LONGEST = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


class Verdict(StrEnum):
    """How bad it is."""

    OK = "ok"
    #: Something is missing that not every use needs.
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the doctor."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""
    """What to do; empty where nothing is."""


Findings = Iterator[Finding]


def shown(text: object) -> str:
    """What a server or a person wrote, in one short line without control characters."""
    line = _CONTROL.sub(" ", str(text)).strip()
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
