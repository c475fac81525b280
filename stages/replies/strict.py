"""Strict JSON of RFC 8259."""

import json
from typing import Any, NoReturn

from schemas.errors import LLMResponseParseError
from stages.replies.envelope import strip_whole_fence


def parse_strict(raw: str) -> dict[str, Any]:
    """The object of a validator's reply, which may be inside one code fence and nothing else.

    Nothing is repaired, and a repeated name is refused, because either value would be a guess.
    Raises LLMResponseParseError.

    >>> parse_strict('```json\\n{"decision": "accept"}\\n```')
    {'decision': 'accept'}
    """
    try:
        return strict_object(strip_whole_fence(raw), unique_names=True)
    except ValueError as error:
        raise LLMResponseParseError(raw, str(error)) from None


def strict_object(text: str, *, unique_names: bool = False) -> dict[str, Any]:
    """The JSON object in `text`. Raises ValueError, whose message has the position but no part of the text.

    Without `unique_names` the last of several equal names counts, as in Python's parser.
    """
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeated_names if unique_names else None,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {json_type(value)}")
    return value


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value of any type."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def json_type(value: object) -> str:
    """The JSON type of a parsed value: object, array, string, boolean, number or null."""
    for types, word in ((dict, "object"), (list, "array"), (str, "string"), (bool, "boolean"), (int | float, "number")):
        if isinstance(value, types):
            return word
    return "null"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return members
