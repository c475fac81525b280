"""The base class of groups of settings, and the description of a single setting."""

import ast
from abc import ABC
from dataclasses import Field, dataclass, fields
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import BaseModel, TypeAdapter

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class SettingsGroup(ABC):
    """A group of settings: a dataclass of fields with the values that they accept, which pydantic checks where a run
    or a preset is made of them. What only needs names and defaults does without pydantic.

    A group does not read the environment: a worker rebuilds a run's settings from the stored snapshot, and the
    environment of its machine must not affect them.
    """

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    prefix: ClassVar[str] = ""
    """Of the names of its settings."""
    __pydantic_config__: ClassVar["ConfigDict"] = {"extra": "forbid", "allow_inf_nan": False, "validate_default": True}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> "JsonSchemaValue":
        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        for field, text in descriptions(cls).items():
            properties[field]["description"] = text
        return described


@dataclass(frozen=True)
class Allowed:
    """Beside the type of a field: the accepted values in words."""

    words: str

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> "JsonSchemaValue":
        return handler(schema) | {"allowed": self.words}


class Setting(NamedTuple):
    """One setting, for documentation and error messages."""

    name: str
    """Its name in the environment, in .env and after --set."""
    field: str
    default: Any
    is_secret: bool
    """Whether its value is never shown."""
    group: "type[SettingsGroup | BaseModel]"
    place: tuple[str, ...] = ()
    """Where its value lies in the settings of a run, a preset or a process."""

    @property
    def description(self) -> str:
        """What is written below it."""
        return descriptions(self.group).get(self.field, "")


@cache
def settings_of(group: type[SettingsGroup]) -> tuple[Setting, ...]:
    """Every setting of a group, in the order of its fields."""
    return tuple(
        Setting(group.prefix + field.name.upper(), field.name, field.default, not field.repr, group)
        for field in fields(group)
    )


@cache
def descriptions(group: "type[SettingsGroup | BaseModel]") -> dict[str, str]:
    """The texts below the fields of a group, by field; none of a group that no file defines.

    They are read from the source when they are shown, as few commands do.
    """
    try:
        source = getsource(group)
    except OSError:
        return {}
    definition = ast.parse(dedent(source)).body[0]
    assert isinstance(definition, ast.ClassDef)
    return {
        field.id: cleandoc(text)
        for above, below in pairwise(definition.body)
        if isinstance(below, ast.Expr)
        for field, text in [(getattr(above, "target", None), getattr(below.value, "value", None))]
        if isinstance(field, ast.Name) and isinstance(text, str)
    }


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


def value_in_words(value: object) -> str:
    """A value of a setting as written in the environment, or `unset` or `empty`."""
    match value:
        case None:
            return "unset"
        case "":
            return "empty"
        case bool():
            return str(value).lower()
    return str(value)
