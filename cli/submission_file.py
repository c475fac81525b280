"""The file of `ragq submit --config`: options, settings, and perhaps questions or phrases, as TOML."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from cli.files import RowFile, read_file
from cli.options import SETTINGS
from cli.submit_participants import ParticipantIds
from schemas.errors import Refused
from schemas.settings.preset import PRESET_SETTINGS, is_preset_name
from schemas.suggestions import did_you_mean

_NOT_IN_A_FILE: Final = ("config", "set", "json", "help")

_WORDS: Final = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class SubmissionFile(NamedTuple):
    """What a file asks for."""

    path: Path
    options: dict[str, Any]
    """Values of options, by the names of their parameters."""
    settings: dict[str, str]
    """Texts of settings and of values of the preset, by their names."""

    @property
    def origin(self) -> str:
        """The file as errors name it."""
        return f"file {self.path}"


def config_option(context: click.Context, _parameter: click.Parameter, path: Path | None) -> SubmissionFile | None:
    """Read the file of --config, before other options, which take its values unless the command line has them."""
    if path is None or context.resilient_parsing:
        return None
    read = read_submission_file(path, context.command)
    context.default_map = read.options
    return read


def read_submission_file(path: Path, command: click.Command) -> SubmissionFile:
    """The values in a file for the options of a command. File names in it are relative to its folder.

    Raises Refused with every problem: text that is not TOML, keys that are no option, values of another type.
    """
    try:
        document = tomllib.loads(read_file(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8; save it as UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not TOML: {error}.") from None
    settings = document.pop(SETTINGS, {})
    known = {option.opts[-1].removeprefix("--"): option for option in command.params if _is_in_files(option)}
    flat = dict(_flattened(settings)) if isinstance(settings, dict) else {SETTINGS: settings}
    problems = [*_problems_of_options(document, known), *_problems_of_settings(flat)]
    if problems:
        raise Refused("\n".join([f"{path} cannot be submitted:", *(f"  {problem}" for problem in problems)]))
    options = {str(known[key].name): _located(known[key], value, path.parent) for key, value in document.items()}
    return SubmissionFile(path, options, {name: _text(value) for name, value in flat.items()})


def _is_in_files(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and option.opts[-1].removeprefix("--") not in _NOT_IN_A_FILE


def _problems_of_options(document: Mapping[str, Any], known: Mapping[str, click.Parameter]) -> Iterator[str]:
    for key, value in document.items():
        if key not in known:
            yield f"`{key}` is no option of a submission.{did_you_mean(key, [*known, SETTINGS])}"
        elif not _fits(known[key], value):
            yield f"`{key}` is {_in_words(value)}; it takes {_wanted(known[key])}."


def _problems_of_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name == SETTINGS:
            yield f"`{SETTINGS}` is {_in_words(value)}; it is a table, which begins with [{SETTINGS}]."
        elif is_preset_name(name) and name not in PRESET_SETTINGS:
            yield f"`{name}` is not a value of a preset.{did_you_mean(name, PRESET_SETTINGS)}"
        elif not isinstance(value, str | bool | int | float):
            yield f"`{name}` is {_in_words(value)}; a setting is a text, a number, or true or false."


def _in_words(value: Any) -> str:
    return _WORDS.get(type(value), "a date")


def _flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a table by their names: those of tables in it are named `table.key`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _fits(option: click.Parameter, value: Any) -> bool:
    if isinstance(option.type, click.types.BoolParamType):
        return isinstance(value, bool)
    if option.multiple and isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    if isinstance(value, list):
        return isinstance(option.type, RowFile | ParticipantIds) and bool(value)
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _wanted(option: click.Parameter) -> str:
    match option.type:
        case click.types.BoolParamType():
            return "true or false"
        case RowFile():
            return "the name of a file, or tables"
        case ParticipantIds():
            return "a list of numbers"
    return "a text, or a list of texts" if option.multiple else "a text or a number"


def _located(option: click.Parameter, value: Any, folder: Path) -> Any:
    if option.multiple:
        return value if isinstance(value, list) else [str(value)]
    is_file = isinstance(option.type, click.Path | RowFile)
    return str(folder / value) if is_file and isinstance(value, str) and value != "-" else value


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
