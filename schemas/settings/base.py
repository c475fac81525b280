"""The base class of groups of settings, and the description of a single setting."""

from functools import cache
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class SettingsGroup(BaseSettings):
    """A group of settings. Frozen; built only from the given values.

    A group does not read the environment: a worker rebuilds a run's settings from the stored snapshot, and the
    environment of its machine must not affect them.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

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


def disagreement(message: str, *names: str) -> PydanticCustomError:
    """The error of a validator for valid values that conflict; `names` are environment names."""
    return PydanticCustomError("disagreement", "{message}", {"message": message, "names": names})


class Setting(NamedTuple):
    """One setting, for documentation and error messages."""

    name: str
    """Its name in the environment, in .env and after --set."""
    field: str
    default: Any
    allowed: str
    """The accepted values in words: `a whole number from 1 to 10`."""
    description: str
    is_secret: bool
    """Whether its value is never shown."""


@cache
def settings_of(group: type[SettingsGroup]) -> tuple[Setting, ...]:
    """Every setting of a group, in the order of its fields."""
    prefix = group.model_config.get("env_prefix", "")
    schemas = group.model_json_schema()["properties"]
    return tuple(
        Setting(
            name=prefix + field.upper(),
            field=field,
            default=info.default,
            allowed=allowed_values(schemas[field]),
            description=info.description or "",
            is_secret=not info.repr,
        )
        for field, info in group.model_fields.items()
    )


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
