"""The options by which a command lets its user choose the settings of a run."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from cli.assignments import Assignment
from cli.output import print_text
from schemas.settings.layers import ENV_FILE, Layer, outside_layers
from schemas.settings.name_checks import check_names
from schemas.settings.profiles import PROFILES
from schemas.settings.resolve import EffectiveSettings, resolve
from stages.reports.numbers_in_words import counted

#: Lines of warnings at the head of a command; it counts the others.
_WARNINGS = 2

Command = TypeVar("Command", bound=Callable[..., Any])


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
