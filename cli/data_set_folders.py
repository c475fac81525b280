"""The folders of a data set when a command names none: DATA_BASE_DIR and DATA_TRANSCRIPTS_DIR."""

from pathlib import Path

import click
from click.core import ParameterSource

from cli.data_directory import environment
from cli.output import print_text

_NAMES = {"directory": "DATA_BASE_DIR", "transcripts": "DATA_TRANSCRIPTS_DIR"}


def default_directory() -> str:
    """The folder of the data set. Raises UsageError without DATA_BASE_DIR."""
    if (named := _named("directory")) is None:
        raise click.MissingParameter(param_hint="'DIRECTORY'", param_type="argument")
    return named


def default_transcripts() -> str:
    """The folder of the transcripts: an absolute path, or the sub-folder `transcripts` without DATA_TRANSCRIPTS_DIR."""
    named = _named("transcripts")
    return "transcripts" if named is None else str(Path(named).absolute())


def announce_folders() -> None:
    """Print on stderr which of the current command's folders the environment or .env names."""
    context = click.get_current_context()
    for parameter, name in _NAMES.items():
        if context.get_parameter_source(parameter) is ParameterSource.DEFAULT and _named(parameter):
            print_text(f"{parameter.capitalize()}: {context.params[parameter]} ({name}).", err=True)


def _named(parameter: str) -> str | None:
    return environment().get(_NAMES[parameter]) or None
