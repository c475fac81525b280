"""Where values come from: layers of names and texts, a later layer over an earlier one."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic_settings import EnvSettingsSource

from schemas.settings.base import SettingsGroup, settings_of
from schemas.settings.problems import unknown_name

ENV_FILE = Path(".env")
"""Read in the working directory, when it is there."""


class SettingSource(StrEnum):
    """Which layer a value came from; a later member wins over an earlier one."""

    #: Written in the code.
    DEFAULT = "default"
    #: Part of the chosen profile.
    PROFILE = "profile"
    #: A line of the .env file.
    FILE = "file"
    #: A variable of the environment.
    ENVIRONMENT = "environment"
    #: Given with --set.
    OPTION = "option"


class Layer(NamedTuple):
    """Texts under environment names, all from one source."""

    source: SettingSource
    origin: str
    """The source in the words of an error: `file .env`."""
    variables: Mapping[str, str]
    """Names in capitals: like pydantic-settings, ragq reads names in any case of letters."""


class Given(NamedTuple):
    """The text that counts for a setting, and the layer it stands in."""

    text: str
    layer: Layer


def given_in(layers: Sequence[Layer], group: type[SettingsGroup]) -> dict[str, Given]:
    """What the layers, lowest first, say about a group, by environment name."""
    given: dict[str, Given] = {}
    for layer in layers:
        reader = EnvSettingsSource(group)
        reader.env_vars = {name.lower(): text for name, text in layer.variables.items()}
        texts = reader()
        given |= {
            setting.name: Given(texts[setting.field], layer) for setting in settings_of(group) if setting.field in texts
        }
    return given


def unknown_names(layer: Layer, *, prefixes: tuple[str, ...], known: Collection[str]) -> list[str]:
    """One problem for every name of the layer that starts with one of the prefixes and is not known."""
    return [
        unknown_name(name, layer.origin, known)
        for name in layer.variables
        if name.startswith(prefixes) and name not in known
    ]


def profile_layer(name: str, variables: Mapping[str, str]) -> Layer:
    """The values of a profile."""
    return Layer(SettingSource.PROFILE, f"profile {name}", variables)


def option_layer(options: Mapping[str, str]) -> Layer:
    """What --set gave."""
    return Layer(SettingSource.OPTION, "option --set", _in_capitals(options))


def file_layer(path: Path) -> tuple[Layer, list[str]]:
    """The lines of a .env file, and the problems with it. References such as ${HOME} are expanded.

    A file that does not exist, or cannot be read, is an empty layer; the second is a problem.
    """
    origin = f"file {path}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Layer(SettingSource.FILE, origin, {}), []
    except (OSError, UnicodeDecodeError) as error:
        return Layer(SettingSource.FILE, origin, {}), [
            f"{origin} cannot be read as UTF-8 text: {type(error).__name__}."
        ]
    lines = list(parse_stream(StringIO(text)))
    # python-dotenv logs a broken line and goes on; here it is a problem like any other.
    problems = [f"{origin}, line {line.original.line} is not of the form NAME=VALUE." for line in lines if line.error]
    variables = dotenv_values(stream=StringIO("".join(line.original.string for line in lines if not line.error)))
    return Layer(
        SettingSource.FILE, origin, _in_capitals({name: value or "" for name, value in variables.items()})
    ), problems


def outside_layers(environment: Mapping[str, str], env_file: Path | None) -> tuple[list[Layer], list[str]]:
    """The .env file below the environment, and the problems with the file, which is passed over if TESTING is set."""
    layer = Layer(SettingSource.ENVIRONMENT, "environment", _in_capitals(environment))
    if env_file is None or environment.get("TESTING"):
        return [layer], []
    from_file, problems = file_layer(env_file)
    return [from_file, layer], problems


def merged(environment: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """The environment over the lines of the .env file: what a process of ragq takes its connections from."""
    layers, _ = outside_layers(environment, env_file)
    return {name: text for layer in layers for name, text in layer.variables.items()}


def _in_capitals(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.upper(): text for name, text in variables.items()}
