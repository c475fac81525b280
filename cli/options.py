"""Options and arguments that several commands have."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from pydantic import ValidationError

from cli.output import print_text
from schemas.settings.layers import ENV_FILE, Layer, merged, outside_layers
from schemas.settings.names import check_names
from schemas.settings.process import ProcessSettings
from schemas.settings.profiles import PROFILES
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.suggestions import did_you_mean
from schemas.values.estimates import Prices
from schemas.values.runs import RunLimits
from services.costs import prices_of, read_prices
from stages.reports.numbers_in_words import counted


class _Group(click.Group):
    """A group whose help has the first sentence of each command whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, in the order of their names."""
        commands = {name: self.commands[name] for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in commands.items()])


def group(name: str | None = None) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a function a group of commands."""
    return click.group(name, cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})


#: Characters of a sentence that is never cut.
_WHOLE: Final = 1000


class Assignment(click.ParamType[tuple[str, str]]):
    """A text of the form NAME=VALUE, as a pair."""

    name = "NAME=VALUE"

    def __init__(self, example: str = "EMBEDDING_TOP_K_REFERENCES=3") -> None:
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not (name and equals):
            self.fail(f"{value!r} is not of the form NAME=VALUE, such as {self._example}.", param, ctx)
        return name, text


Value = TypeVar("Value")


class Choice(click.Choice[Value]):
    """One of these values."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """All values, and the one that was probably meant."""
        known = [self.normalize_choice(choice, ctx) for choice in self.choices]
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), known)


Command = TypeVar("Command", bound=Callable[..., Any])


class _MaxFailures(click.ParamType[str]):
    name = "N|P%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            RunLimits(max_failures=str(value))
        except ValidationError:
            self.fail(f"{value!r} is neither a number of jobs from 1 nor a percentage such as 10%.", param, ctx)
        return str(value)


_OPTIONS = (
    click.option(
        "--max-failures",
        type=_MaxFailures(),
        metavar="N|P%",
        help="Pause the unfinished jobs of the run once N jobs have failed, or P% of those that finished, which are at "
        "least 20 or half of a smaller run.",
    ),
    click.option(
        "--max-llm-calls",
        type=click.IntRange(1, 2**53 - 1),
        metavar="N",
        help="Calls of language models that the run may pay for; a job that needs another one is paused.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 2**53 - 1),
        metavar="N",
        help="Tokens of prompts and replies that the run may pay for, and those of the calls in progress then; a job "
        "that needs another call is paused.",
    ),
)


def limit_options(command: Command) -> Command:
    """Adds the options; the command takes their values as arguments of these names, for RunLimits."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


#: Lines of warnings at the head of a command; it counts the others.
_WARNINGS = 2


def settings_options(command: Command) -> Command:
    """Give a command --profile and --set, as the parameters `profile` and `assignments` of effective_settings."""
    command = click.option(
        "--set",
        "assignments",
        type=Assignment(),
        multiple=True,
        help="Value of one setting; it wins over environment, .env and profile. May be repeated.",
    )(command)
    return click.option(
        "--profile",
        help=f"Set of values to start from: {', '.join(PROFILES)}. Without it RAGQ_PROFILE; without both, demo when "
        "no language model server is set, else server.",
    )(command)


def effective_settings(
    profile: str | None, assignments: Sequence[tuple[str, str]], config: Layer | None = None
) -> EffectiveSettings:
    """The settings of a run submitted here and now; their warnings go to stderr. Raises Refused with every problem."""
    settings = resolve(
        profile=profile, options=dict(assignments), config=config, environment=os.environ, env_file=ENV_FILE
    )
    _warn(settings.warnings)
    return settings


def warn_of_names() -> None:
    """Print on stderr the names of the environment and .env that have no effect."""
    layers, _ = outside_layers(os.environ, ENV_FILE)
    _warn(check_names(layers).warnings)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings[:_WARNINGS]:
        print_text(f"Warning: {warning}", err=True)
    if (more := len(warnings) - _WARNINGS) > 0:
        names = counted(more, "more name")
        print_text(f"Warning: {names} without effect; `ragq config check` shows what to use instead.", err=True)


prices_option = click.option(
    "--prices",
    "price_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file of prices per million tokens, by model.  [default: RAGQ_PRICES]",
)


def chosen_prices(file: Path | None) -> Prices | None:
    """The prices of the option, or of RAGQ_PRICES; None without either. Raises SettingsError for a misspelt setting."""
    if file is None and not any(
        name.startswith("RAGQ_") for name in merged(os.environ, ENV_FILE).keys() - {"RAGQ_HOME"}
    ):
        return None
    return prices_of(ProcessSettings.from_environment(os.environ, ENV_FILE)) if file is None else read_prices(file)


def refuse_prices(file: Path | None) -> None:
    """Raise UsageError where a price file was named and nothing is estimated."""
    if file is not None:
        raise click.UsageError("--prices goes with --dry-run; `ragq show RUN --prices FILE` has what a run cost.")


SETTINGS: Final = "settings"
"""The table of settings and of values of the preset."""
