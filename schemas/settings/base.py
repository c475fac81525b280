"""The base class of groups of settings, and the description of a single setting."""

import ast
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class SettingsGroup(BaseSettings):
    """A group of settings. Frozen; built only from the given values.

    A group does not read the environment: a worker rebuilds a run's settings from the stored snapshot, and the
    environment of its machine must not affect them.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        for field, text in descriptions(cls).items():
            properties[field]["description"] = text
        return described


def disagreement(message: str, *names: str) -> PydanticCustomError:
    """The error of a validator for valid values that conflict; `names` are environment names."""
    return PydanticCustomError("disagreement", "{message}", {"message": message, "names": names})


class Setting(NamedTuple):
    """One setting, for documentation and error messages."""

    name: str
    """Its name in the environment, in .env and after --set."""
    field: str
    default: Any
    is_secret: bool
    """Whether its value is never shown."""
    group: type[SettingsGroup]

    @property
    def allowed(self) -> str:
        """The accepted values in words: `a whole number from 1 to 10`."""
        return allowed_values(_schemas(self.group)[self.field])

    @property
    def description(self) -> str:
        """What is written below it."""
        return descriptions(self.group).get(self.field, "")


@cache
def settings_of(group: type[SettingsGroup]) -> tuple[Setting, ...]:
    """Every setting of a group, in the order of its fields."""
    prefix = group.model_config.get("env_prefix", "")
    return tuple(
        Setting(prefix + field.upper(), field, info.default, not info.repr, group)
        for field, info in group.model_fields.items()
    )


@cache
def descriptions(group: type[BaseModel]) -> dict[str, str]:
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
        for field, text in [(getattr(above, "target", None), getattr(getattr(below, "value", None), "value", None))]
        if isinstance(field, ast.Name) and isinstance(text, str)
    }


@cache
def _schemas(group: type[SettingsGroup]) -> dict[str, Any]:
    fields: dict[str, Any] = group.model_json_schema()["properties"]
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
