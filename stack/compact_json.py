"""Schemas that JSON can be held to on one line.

Held to a schema, llama.cpp lets the model indent: half of the tokens of a verdict were blanks and newlines. Its other
grammar engine, llguidance, can forbid that. But it generates without any grammar where it does not know a part of a
schema, so it is given only schemas whose every part is known here.
"""

from collections.abc import Mapping
from typing import Any

ONE_LINE = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}

_TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
_KNOWN = {"type", "properties", "required", "additionalProperties", "enum", "const", "items", "maxLength"}
_WITHOUT_EFFECT = {"title", "description", "default"}


def on_one_line(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema with what keeps a reply on one line; None for a schema with parts that are not known here.

    >>> on_one_line({"type": "string", "pattern": "a+"}) is None
    True
    """
    return {**schema, **ONE_LINE} if _is_known(schema) else None


def _is_known(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _KNOWN | _WITHOUT_EFFECT:
        return False
    types = schema.get("type", [])
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return (
        set([types] if isinstance(types, str) else types) <= _TYPES
        and schema.get("additionalProperties", False) is False
        and all(map(_is_known, inner))
    )
