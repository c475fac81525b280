"""The values that a setting accepts, in words."""

from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from schemas.settings.base import Setting, SettingsGroup


def allowed(setting: Setting) -> str:
    """What a setting accepts: `a whole number from 1 to 10`."""
    return allowed_values(field_schemas(setting.group)[setting.field])


@cache
def field_schemas(group: type[SettingsGroup | BaseModel]) -> dict[str, Any]:
    """The JSON schema of each field of a group."""
    fields: dict[str, Any] = TypeAdapter(group).json_schema()["properties"]
    return fields


def allowed_values(schema: dict[str, Any]) -> str:
    """The values that a JSON schema of one field accepts, in words.

    >>> allowed_values({"type": "integer", "minimum": 1, "maximum": 10})
    'a whole number from 1 to 10'
    >>> allowed_values({"enum": ["ollama", "openai"]})
    'ollama or openai'
    """
    variants = [variant for variant in schema.get("anyOf", [schema]) if variant.get("type") != "null"]
    return " or ".join(_variant_in_words(variant) for variant in variants)


def _variant_in_words(schema: dict[str, Any]) -> str:
    if "allowed" in schema:
        return str(schema["allowed"])
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return " or ".join(schema["enum"])
    kind = {"boolean": "true or false", "integer": "a whole number", "number": "a number"}.get(schema["type"], "a text")
    match schema:
        case {"minimum": low, "maximum": high}:
            return f"{kind} from {low:g} to {high:g}"
        case {"minimum": low}:
            return f"{kind} from {low:g} up"
        case {"exclusiveMinimum": low}:
            return f"{kind} above {low:g}"
    return kind
