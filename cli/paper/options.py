"""`--latex`, `--markdown`, `--csv` and `--output`: how a command prints its report for a paper."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

from cli.output import draw
from cli.paper.latex import as_latex
from cli.paper.markdown import as_markdown
from cli.paper.table import PaperTable
from stages.reports.report_numbers import PaperNumber, as_csv

Command = TypeVar("Command", bound=Callable[..., Any])


class PaperFormat(StrEnum):
    """What a table is written in."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


def paper_options(command: Command) -> Command:
    """Give a command the parameters that `paper_format` and `write` take."""
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


def write(
    wanted: PaperFormat,
    *,
    tables: Iterable[PaperTable],
    numbers: Iterable[PaperNumber],
    confidence: str | None,
    output: Path | None,
) -> None:
    """Print a report in a format, or write it to a file."""
    match wanted:
        case PaperFormat.LATEX:
            text = as_latex(tables)
        case PaperFormat.MARKDOWN:
            text = as_markdown(tables)
        case PaperFormat.CSV:
            text = as_csv(numbers, confidence=confidence)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)
