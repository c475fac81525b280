"""How a command prints its report for a paper."""

from collections.abc import Iterable
from pathlib import Path

from cli.output import draw, print_data
from cli.paper.latex import as_latex
from cli.paper.markdown import as_markdown
from cli.paper.options import PaperFormat
from cli.paper.table import PaperTable
from stages.reports.report_numbers import PaperNumber, as_csv


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
        print_data(text)
    else:
        output.write_text(text, encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)
