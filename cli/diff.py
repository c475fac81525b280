"""`ragq diff`: one run against another of its kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from cli.choices import Choice
from cli.ids import RUN
from cli.kept_reports import Composed, StoredRun, kept_or_composed, recompute_option, stored_run
from cli.output import draw
from cli.paper.options import PaperFormat, paper_format, paper_options
from cli.report_options import given_measures, measure_options, metric_option
from cli.session import with_database
from schemas.values.phq8 import AssessmentMode
from store.database import Connection
from store.runs import overviews

_MODES = Choice([mode.value for mode in AssessmentMode])


class ForPaper(NamedTuple):
    """Two runs, and the form in which their comparison is written."""

    wanted: PaperFormat
    runs: list[StoredRun]


@click.command()
@click.argument("left", metavar="A", type=RUN)
@click.argument("right", metavar="B", type=RUN)
@click.argument("more", metavar="[C...]", type=RUN, nargs=-1)
@click.option("--mode", type=_MODES, help="Mode to compare.  [default: each that both runs have]")
@click.option("--other-mode", type=_MODES, help="Mode of B, when it is another than that of A.")
@measure_options
@metric_option
@paper_options
@recompute_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON array, one object per mode; of two runs of queries one object.",
)
def diff(
    left: int,
    right: int,
    more: tuple[int, ...],
    mode: str | None,
    other_mode: str | None,
    metrics: tuple[str, ...],
    latex: bool,
    markdown: bool,
    csv: bool,
    output: Path | None,
    recompute: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Two scored runs are compared on the participants that both scored, two runs of queries on the queries that both
    have. Also shows the items or queries that changed, the settings that differ, and who failed in one of them only.
    Three runs and more, and runs of phrases, are shown in one table, with intervals that are corrected for the number
    of comparisons (Bonferroni) beside the others. A comparison is kept, as a report is.

    \b
    Example:
        ragq diff r12 r15
        ragq diff r12 r12 --mode zero_shot --other-mode few_shot
        ragq diff r20 r21 --cutoff 5
        ragq diff r12 r13 r14 r15 --metric item_mae_weighted --csv > compared.csv
    """
    if other_mode is not None and mode is None:
        raise click.UsageError("--other-mode goes with --mode, which names the mode of A.")
    run_ids = [left, right, *more]

    def compose(runs: Sequence[StoredRun]) -> str:
        from cli.composed_difference import composed_difference, difference_words

        return difference_words(composed_difference(runs, mode, other_mode, options), as_json=as_json)

    async def of_two(connection: Connection) -> Composed | ForPaper:
        if metrics:
            raise click.UsageError("--metric: only for three runs and more, and runs of phrases.")
        wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)
        if wanted is None:
            return await kept_or_composed(connection, run_ids, compose, recompute=recompute)
        return ForPaper(wanted, [await stored_run(connection, run_id) for run_id in run_ids])

    def compose_several(runs: Sequence[StoredRun]) -> str:
        from cli.several_table import compared_runs, several_words

        found = compared_runs(runs, mode, given_measures(**options))
        return several_words(found, metrics, csv=csv, as_json=as_json)

    async def of_several(connection: Connection) -> Composed:
        if other_mode is not None or latex or markdown:
            raise click.UsageError("--other-mode, --latex and --markdown go with two runs of participants or queries.")
        if csv and as_json:
            raise click.UsageError("--csv and --json exclude each other; give one of them.")
        if output is not None and not csv:
            raise click.UsageError("--output goes with --csv.")
        return await kept_or_composed(connection, run_ids, compose_several, read=comparable, recompute=recompute)

    async def of_any(connection: Connection) -> Composed | ForPaper:
        is_of_two = not more and (await overviews.get(connection, left)).kind != "tags"
        return await (of_two if is_of_two else of_several)(connection)

    match with_database(of_any):
        case Composed() as found if output is not None:
            output.write_text(f"{found.words}\n", encoding="utf-8", newline="")
            draw(f"Wrote {output}.", err=True)
            found.tell_age()
        case Composed() as found:
            found.print()
        case ForPaper(wanted, runs):
            from cli.composed_difference import composed_difference, write_difference

            write_difference(composed_difference(runs, mode, other_mode, options), wanted, output)


async def comparable(connection: Connection, run_id: int) -> StoredRun:
    """A run of participants, queries or phrases. Raises RunMissingError, and Refused for any other."""
    kind = (await overviews.get(connection, run_id)).kind
    if kind != "tags":
        return await stored_run(connection, run_id, kind=kind)
    from services.several_runs import tags_run

    return await tags_run(connection, run_id)
