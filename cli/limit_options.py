"""The options for the limits of a run."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from schemas.values.run_limits import RunLimits

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
