"""Sources of values: layers of names and texts, where a later layer overrides an earlier one."""

from collections.abc import Mapping
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import NamedTuple

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
    """Texts under environment names, all from one source."""

    source: SettingSource
    origin: str
    """The source as errors name it: `file .env`."""
    variables: Mapping[str, str]
    """Names in capitals: the case of names does not matter."""


def profile_layer(name: str, variables: Mapping[str, str]) -> Layer:
    """The values of a profile."""
    return Layer(SettingSource.PROFILE, f"profile {name}", variables)


def option_layer(options: Mapping[str, str]) -> Layer:
    """The values of --set."""
    return Layer(SettingSource.OPTION, "option --set", _in_capitals(options))


def config_layer(options: Mapping[str, str], *, origin: str) -> Layer:
    """The settings in the file of --config."""
    return Layer(SettingSource.CONFIG, origin, _in_capitals(options))


def file_layer(path: Path) -> tuple[Layer, list[str]]:
    """The lines of a .env file, and its problems. References such as ${HOME} are expanded.

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
    # Most processes have no such file.
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    lines = list(parse_stream(StringIO(text)))
    # python-dotenv logs an invalid line and continues; here it is a problem like any other.
    problems = [f"{origin}, line {line.original.line} is not of the form NAME=VALUE." for line in lines if line.error]
    variables = dotenv_values(stream=StringIO("".join(line.original.string for line in lines if not line.error)))
    return Layer(
        SettingSource.FILE, origin, _in_capitals({name: value or "" for name, value in variables.items()})
    ), problems


def outside_layers(environment: Mapping[str, str], env_file: Path | None) -> tuple[list[Layer], list[str]]:
    """The .env file below the environment, and the problems of the file, which is ignored if TESTING is set."""
    layer = Layer(SettingSource.ENVIRONMENT, "environment", _in_capitals(environment))
    if env_file is None or environment.get("TESTING"):
        return [layer], []
    from_file, problems = file_layer(env_file)
    return [from_file, layer], problems


def merged(environment: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """The lines of the .env file, overridden by the environment: the connections of a process of ragq."""
    layers, _ = outside_layers(environment, env_file)
    return {name: text for layer in layers for name, text in layer.variables.items()}


def _in_capitals(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.upper(): text for name, text in variables.items()}
