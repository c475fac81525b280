"""Groups of settings, single settings, and layers of values, where a later layer overrides an earlier one."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from io import StringIO
from pathlib import Path
from reprlib import Repr
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from schemas.suggestions import nearest


class SettingsGroup(BaseModel):
    """A group of settings.

    It does not read the environment: a worker rebuilds a run's settings from the stored snapshot, and the environment
    of its machine must not affect them.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, defer_build=True
    )


class Setting(NamedTuple):
    """One setting, for documentation and error messages."""

    name: str
    """Its name in the environment, in .env and after --set."""
    group: type[BaseModel]
    place: tuple[str, ...]
    """Where its value lies in the settings of a run, a preset or a process."""

    @property
    def field(self) -> str:
        """Its name in the group."""
        return self.place[-1]

    @property
    def info(self) -> FieldInfo:
        """Its default, and `repr`, which is false for a secret: a value that is never shown."""
        return self.group.model_fields[self.field]

    @property
    def description(self) -> str:
        """What is written below it."""
        return self.info.description or ""


def settings_in(groups: BaseModel, name_of: Callable[[str, str], str]) -> dict[str, Setting]:
    """Every setting in groups by its name, which its group and its field give, in order."""
    found = [
        Setting(name_of(name, field), type(group), (name, field))
        for name, group in groups
        for field in type(group).model_fields
    ]
    return {setting.name: setting for setting in found}


def by_group(settings: Mapping[str, Setting]) -> list[tuple[str, type[BaseModel], list[Setting]]]:
    """The groups in order, each with its name and its settings."""
    found: dict[str, list[Setting]] = {}
    for setting in settings.values():
        found.setdefault(setting.place[0], []).append(setting)
    return [(name, of_group[0].group, of_group) for name, of_group in found.items()]


def allowed(setting: Setting) -> str:
    """What a setting accepts: `a whole number from 1 to 10`."""
    return allowed_values(field_schemas(setting.group)[setting.field])


@cache
def field_schemas(group: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of each field of a group."""
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


ENV_FILE = Path(".env")
"""Read from the working directory, if it exists."""


class SettingSource(StrEnum):
    """The layer of a value; a later member overrides an earlier one."""

    #: Written in the code.
    DEFAULT = "default"
    #: Part of the chosen profile.
    PROFILE = "profile"
    #: Chosen for everybody over REST, and stored.
    CHOSEN = "chosen"
    #: A line of the .env file.
    FILE = "file"
    #: A variable of the environment.
    ENVIRONMENT = "environment"
    #: Given in the file of --config.
    CONFIG = "config"
    #: Given with --set.
    OPTION = "option"


BELOW_CHOSEN = (SettingSource.DEFAULT, SettingSource.PROFILE)
"""The layers that a chosen value overrides."""


class Layer(NamedTuple):
    """Values under environment names, all from one source."""

    origin: str
    """The source as errors name it: `file .env`."""
    variables: Mapping[str, Any]
    """Names in capitals: the case of names does not matter."""
    source: SettingSource = SettingSource.DEFAULT


def layer_of(source: SettingSource, origin: str, variables: Mapping[str, str | None]) -> Layer:
    """A layer with its names in capitals."""
    return Layer(origin, {name.upper(): text or "" for name, text in variables.items()}, source)


def file_layer(path: Path) -> tuple[Layer, list[str]]:
    """The lines of a .env file, and its problems. References such as ${HOME} are expanded. A file that does not exist,
    or cannot be read, is an empty layer; the second is a problem."""
    origin = f"file {path}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Layer(origin, {}), []
    except (OSError, UnicodeDecodeError) as error:
        return Layer(origin, {}), [f"{origin} cannot be read as UTF-8 text: {type(error).__name__}."]
    # Most processes have no such file.
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    lines = list(parse_stream(StringIO(text)))
    # python-dotenv logs an invalid line and continues; here it is a problem like any other.
    problems = [f"{origin}, line {line.original.line} is not of the form NAME=VALUE." for line in lines if line.error]
    variables = dotenv_values(stream=StringIO("".join(line.original.string for line in lines if not line.error)))
    return layer_of(SettingSource.FILE, origin, variables), problems


def outside_layers(environment: Mapping[str, str], env_file: Path | None) -> tuple[list[Layer], list[str]]:
    """The .env file below the environment, and the problems of the file, which is ignored if TESTING is set."""
    layer = layer_of(SettingSource.ENVIRONMENT, "environment", environment)
    if env_file is None or environment.get("TESTING"):
        return [layer], []
    from_file, problems = file_layer(env_file)
    return [from_file, layer], problems


def merged(environment: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """The lines of the .env file, overridden by the environment: the connections of a process of ragq."""
    layers, _ = outside_layers(environment, env_file)
    return {name: text for layer in layers for name, text in layer.variables.items()}


def given_in(layers: Iterable[Layer], names: Iterable[str]) -> dict[str, Layer]:
    """The effective layer of each setting that is in any of the layers, lowest first, by environment name."""
    return {name: layer for layer in layers for name in names if name in layer.variables}


def sources_of(given: Mapping[str, Layer], names: Iterable[str]) -> dict[str, SettingSource]:
    """The source of each setting."""
    return {name: given[name].source if name in given else SettingSource.DEFAULT for name in names}


Model = TypeVar("Model", bound=BaseModel)

_SHORT = Repr()
_SHORT.maxstring = 80


def disagreement(message: str, *names: str) -> PydanticCustomError:
    """The error of a validator for valid values that conflict; `names` are environment names."""
    return PydanticCustomError("disagreement", "{message}", {"message": message, "names": names})


def unknown_name(name: str, origin: str, known: Iterable[str], *, what: str = "setting") -> str:
    """A name that no setting has. Its value is omitted: it may be a secret under a misspelt name."""
    meant = nearest(name, known)
    advice = "remove it." if meant is None else f"did you mean {meant}?"
    return f"{name} ({origin}) is not a {what}; {advice}"


def without_effect(name: str, origin: str, instead: str) -> str:
    """A name that ragq knows and has no use for. Its value is omitted: it may be a secret."""
    return f"{name} ({origin}) has no effect: {instead}."


def checked(
    model: type[Model], given: Mapping[str, Layer], settings: Mapping[str, Setting]
) -> tuple[Model | None, list[str]]:
    """The model with the values of its settings, each from its effective layer, or None and every problem with them."""
    placed: dict[str, Any] = {}
    for name, layer in given.items():
        *groups, field = settings[name].place
        part = placed
        for group in groups:
            part = part.setdefault(group, {})
        part[field] = layer.variables[name]
    try:
        return model.model_validate(placed), []
    except ValidationError as error:
        origins = {name: given[name].origin if name in given else "default" for name in settings}
        at = {setting.place: setting for setting in settings.values()}
        # A value that fits no kind of several is reported once per kind.
        return None, list(dict.fromkeys(_message(found, at, origins) for found in error.errors()))


def _message(found: ErrorDetails, settings: Mapping[Any, Setting], origins: Mapping[str, str]) -> str:
    """What is wrong with a value. That of a secret is omitted."""
    if found["type"] == "disagreement":
        where = "; ".join(f"{name}: {origins[name]}" for name in found["ctx"]["names"])
        return f"{found['msg']} ({where})."
    location = found["loc"]
    setting = settings[location] if location in settings else settings[location[:-1]]
    given = "has a value" if not setting.info.repr else f"is {_SHORT.repr(found['input'])}"
    return f"{setting.name} {given} ({origins[setting.name]}); allowed is {allowed(setting)}."
