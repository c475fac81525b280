"""`--latex`, `--markdown`, `--csv` and `--output`: what a report for a paper is asked for with."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class PaperFormat(StrEnum):
    """What a table is written in."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


def paper_options(command: Command) -> Command:
    """Give a command the parameters that `paper_format` takes, and `write`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("--latex", is_flag=True, help="Print tables in LaTeX; they need no package."),
    click.option("--markdown", is_flag=True, help="Print tables in Markdown."),
    click.option("--csv", is_flag=True, help="Print the numbers as CSV, one a row."),
    click.option(
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help="Write the tables or the CSV to this file.",
    ),
)


def paper_format(*, latex: bool, markdown: bool, csv: bool, as_json: bool, output: Path | None) -> PaperFormat | None:
    """The format that was asked for, if any. Raises UsageError for two at once, and for a file without any."""
    asked = {PaperFormat.LATEX: latex, PaperFormat.MARKDOWN: markdown, PaperFormat.CSV: csv}
    chosen = [one for one, is_asked in asked.items() if is_asked]
    if len(chosen) + as_json > 1:
        names = [*(f"--{one}" for one in chosen), *(["--json"] if as_json else [])]
        raise click.UsageError(f"{' and '.join(names)} exclude each other; give one of them.")
    if output is not None and not chosen:
        raise click.UsageError("--output goes with --latex, --markdown or --csv.")
    return chosen[0] if chosen else None
