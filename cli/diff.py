"""`ragq diff`: runs against the first of them."""

import sys
from pathlib import Path
from typing import Any, Final

import click

from cli.config import with_open_database
from cli.ids import RUN
from cli.options import Choice, given
from cli.output import draw, print_json
from cli.report import measure_options, metric_option
from cli.sheets import draw_sheets, paper_format, paper_options, write
from schemas.values.participants import AssessmentMode
from services.comparisons import compare
from stages.reports.comparison_sheet import EXAMPLE, comparison_sheet, condition, gate, gate_words

#: The exit code for a condition of `--fail-if` that is met, or cannot be decided.
GATE_FAILED: Final = 4

_MODES = Choice([mode.value for mode in AssessmentMode])


@click.command()
@click.argument("left", metavar="A", type=RUN)
@click.argument("right", metavar="B", type=RUN)
@click.argument("more", metavar="[C...]", type=RUN, nargs=-1)
@click.option("--mode", type=_MODES, help="Mode to compare.  [default: each that both runs have]")
@click.option("--other-mode", type=_MODES, help="Mode of B, when it is another than that of A.")
@click.option(
    "--fail-if",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help=f"End with exit code {GATE_FAILED} if the 95 % interval shows it, such as '{EXAMPLE}' or "
    "'ndcg@10 decreases by more than .02', or if too few subjects have an interval. Can be repeated.",
)
@measure_options
@metric_option
@paper_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON array, one object per mode. With --fail-if an object with `gate` and `comparisons`.",
)
def diff(
    left: int,
    right: int,
    more: tuple[int, ...],
    mode: str | None,
    other_mode: str | None,
    conditions: tuple[str, ...],
    metrics: tuple[str, ...],
    latex: bool,
    markdown: bool,
    csv: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Scored runs are compared on the participants that both scored, runs of queries on the queries that both have. Also
    shows the items or queries that changed, the settings that differ, and who failed in
    one of them only. Three runs and more have intervals that are corrected for the number of comparisons (Bonferroni).

    \b
    Example:
        ragq diff r12 r15
        ragq diff r12 r12 --mode zero_shot --other-mode few_shot
        ragq diff r20 r21 --cutoff 5
        ragq diff r12 r15 --fail-if "mae increases" --fail-if "coverage decreases by more than .05"
        ragq diff r12 r13 r14 r15 --metric item_mae_weighted --csv > compared.csv
    """
    if other_mode is not None and mode is None:
        raise click.UsageError("--other-mode goes with --mode, which names the mode of A.")
    wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)
    asked = [condition(words) for words in conditions]

    found = with_open_database(compare, [left, right, *more], mode=mode, other_mode=other_mode, measures=given(options))
    sheets = [comparison_sheet(one, metrics) for one in found]
    decided = gate(found, asked) if asked else None
    if wanted is not None:
        write(sheets, wanted, output)
    elif as_json:
        print_json(found if decided is None else {"gate": decided, "comparisons": found})
    else:
        draw_sheets(sheets)
    if decided is not None:
        draw(*gate_words(decided), err=True)
        sys.exit(0 if decided.passed else GATE_FAILED)
