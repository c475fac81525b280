"""The tolerant parser of model replies. Each repair is recorded; a reply that cannot be parsed raises."""

import subprocess
import sys
from enum import StrEnum
from typing import Any, Final, NamedTuple

from schemas.errors import LLMResponseParseError
from stages.replies.envelope import unwrap
from stages.replies.fixups import tolerant_fixups
from stages.replies.python_literal import python_literal_object
from stages.replies.reply_object import RepeatedNameError, reply_object
from stages.texts.zero_width import without_zero_width

_REPAIRABLE_CHARS: Final = 16_000
_REPAIR_SECONDS: Final = 10.0
_JSON_REPAIR: Final = (sys.executable, "-I", "-m", "json_repair", "--skip-json-loads", "--ensure_ascii")
"""In a process of its own: its time grows with the square of the length of some texts, 6 s for 16,000 characters."""


class RepairStep(StrEnum):
    """A repair that a reply needed, under its name in telemetry."""

    FIXUPS = "json_fixups_applied"
    """Zero-width characters were removed, or the corrections of `tolerant_fixups` changed the text."""
    PYTHON_LITERAL = "json_python_literal_fallback"
    """The corrected text was parsed as Python instead of JSON."""
    JSON_REPAIR = "json_repair_fallback"
    """The json-repair library parsed the text."""
    NEAR_KEYS = "near_keys_matched"
    """Keys such as `sleep` or `PHQ-8 Sleep` were taken for the key of their item."""
    UNKNOWN_KEYS = "unknown_keys_dropped"
    """Keys that belong to no item were left out."""
    SEVERAL_ANSWERS = "several_answers"
    """Of several answers that differ, the last was taken."""


class ParsedReply(NamedTuple):
    """An object and the repairs that parsing needed, in order; none if strict parsing succeeded."""

    value: dict[str, Any]
    repairs: tuple[RepairStep, ...]


def parse_reply(raw: str) -> ParsedReply:
    """The JSON object of a reply: as it is, unwrapped, corrected, as a Python literal, or repaired.

    Names of members have no zero-width characters, and the text has none from the first correction on. Raises
    LLMResponseParseError with the error of the first strict parse of the unwrapped reply, which is more informative
    than the error of the last step. A reply that is JSON but not an object is never accepted, nor is one that repeats
    a name with another value.

    >>> parse_reply('{"PHQ8_Sleep": ["up at three",]}')
    ParsedReply(value={'PHQ8_Sleep': ['up at three']}, repairs=(<RepairStep.FIXUPS: 'json_fixups_applied'>,))
    """
    try:
        return _parsed(raw)
    except RepeatedNameError as error:
        raise LLMResponseParseError(raw, str(error)) from None


def _parsed(raw: str) -> ParsedReply:
    if (found := _strict_or_none(raw.strip())) is not None:
        return found
    text = unwrap(raw)
    try:
        return _strict(text)
    except RepeatedNameError:
        raise
    except ValueError as error:
        first_error = str(error)

    visible = unwrap(without_zero_width(raw))
    seen = (RepairStep.FIXUPS,) if visible != text else ()
    corrected = tolerant_fixups(visible)
    repairs = (RepairStep.FIXUPS,) if corrected != text else ()
    if (found := _strict_or_none(corrected, *repairs)) is not None:
        return found
    if (value := python_literal_object(corrected)) is not None:
        return ParsedReply(value, (*repairs, RepairStep.PYTHON_LITERAL))
    # The library guesses better from the model's text than from corrections that did not produce JSON.
    if (found := _repaired_or_none(visible, *seen)) is not None:
        return found
    raise LLMResponseParseError(raw, first_error)


def _strict(text: str, *repairs: RepairStep) -> ParsedReply:
    value, had_zero_width_names = reply_object(text)
    if had_zero_width_names and RepairStep.FIXUPS not in repairs:
        repairs = (RepairStep.FIXUPS, *repairs)
    return ParsedReply(value, repairs)


def _strict_or_none(text: str, *repairs: RepairStep) -> ParsedReply | None:
    try:
        return _strict(text, *repairs)
    except RepeatedNameError:
        raise
    except ValueError:
        return None


def _repaired_or_none(text: str, *repairs: RepairStep) -> ParsedReply | None:
    if len(text) > _REPAIRABLE_CHARS:
        return None
    try:
        repair = subprocess.run(
            _JSON_REPAIR, input=text, capture_output=True, check=True, encoding="utf-8", timeout=_REPAIR_SECONDS
        )
    except (UnicodeError, subprocess.SubprocessError):
        return None
    # Escapes in names can be zero-width characters too.
    return _strict_or_none(repair.stdout, *repairs, RepairStep.JSON_REPAIR)
