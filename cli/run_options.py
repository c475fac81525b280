"""The options of commands that store a run: estimate it, follow it, print JSON."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cli.estimate import dry_run_option
from cli.options import prices_option
from cli.output import json_option

Command = TypeVar("Command", bound=Callable[..., Any])


def run_options(what: str) -> Callable[[Command], Command]:
    """Give a command --dry-run, --prices, --wait and --json, as `dry_run`, `price_file`, `wait` and `as_json`."""
    options = (
        dry_run_option,
        prices_option,
        click.option("--wait", is_flag=True, help=f"Follow the {what} until it finishes."),
        json_option,
    )

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options
