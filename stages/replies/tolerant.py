"""The tolerant parser of model replies. Each repair is recorded; a reply that cannot be parsed raises."""

from enum import StrEnum
from typing import Any, NamedTuple

import json_repair

from schemas.errors import LLMResponseParseError
from stages.replies.envelope import unwrap
from stages.replies.fixups import tolerant_fixups
from stages.replies.python_literal import python_literal_object
from stages.replies.strict import strict_object


class RepairStep(StrEnum):
    """A repair that a reply needed, under its name in telemetry."""

    FIXUPS = "json_fixups_applied"
    """The corrections of `tolerant_fixups` changed the text."""
    PYTHON_LITERAL = "json_python_literal_fallback"
    """The corrected text was parsed as Python instead of JSON."""
    JSON_REPAIR = "json_repair_fallback"
    """The json-repair library parsed the text."""


class ParsedReply(NamedTuple):
    """An object and the repairs that parsing needed, in order; none if strict parsing succeeded."""

    value: dict[str, Any]
    repairs: tuple[RepairStep, ...]


def parse_reply(raw: str) -> ParsedReply:
    """The JSON object of a reply: as it is, unwrapped, corrected, as a Python literal, or repaired.

    Raises LLMResponseParseError with the error of the first strict parse of the unwrapped reply, which is more
    informative than the error of the last step. A reply that is JSON but not an object is never accepted.

    >>> parse_reply('{"PHQ8_Sleep": ["up at three",]}')
    ParsedReply(value={'PHQ8_Sleep': ['up at three']}, repairs=(<RepairStep.FIXUPS: 'json_fixups_applied'>,))
    """
    text = raw.strip()
    if (value := _strict_or_none(text)) is not None:
        return ParsedReply(value, ())
    text = unwrap(text)
    try:
        return ParsedReply(strict_object(text), ())
    except ValueError as error:
        first_error = str(error)

    corrected = tolerant_fixups(text)
    repairs = (RepairStep.FIXUPS,) if corrected != text else ()
    if (value := _strict_or_none(corrected)) is not None:
        return ParsedReply(value, repairs)
    if (value := python_literal_object(corrected)) is not None:
        return ParsedReply(value, (*repairs, RepairStep.PYTHON_LITERAL))
    # The library guesses better from the model's text than from corrections that did not produce JSON.
    if (value := _repaired_or_none(text)) is not None:
        return ParsedReply(value, (RepairStep.JSON_REPAIR,))
    raise LLMResponseParseError(raw, first_error)


def _strict_or_none(text: str) -> dict[str, Any] | None:
    try:
        return strict_object(text)
    except ValueError:
        return None


def _repaired_or_none(text: str) -> dict[str, Any] | None:
    try:
        value = json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
