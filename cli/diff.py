"""`ragq diff`: one run against another of its kind."""

from pathlib import Path
from typing import Any

import click

from cli.composed_difference import composed_difference, print_difference, write_difference
from cli.composed_report import StoredRun, stored_run
from cli.ids import RUN
from cli.options import Choice
from cli.paper.options import paper_format, paper_options
from cli.report_options import given_measures, measure_options, metric_option
from cli.session import with_database
from cli.several_table import compared_runs, print_several
from schemas.values.phq8 import AssessmentMode
from services.several_runs import tags_run
from store.database import Connection
from store.runs import overviews

_MODES = Choice([mode.value for mode in AssessmentMode])


@click.command()
@click.argument("left", metavar="A", type=RUN)
@click.argument("right", metavar="B", type=RUN)
@click.argument("more", metavar="[C...]", type=RUN, nargs=-1)
@click.option("--mode", type=_MODES, help="Mode to compare.  [default: each that both runs have]")
@click.option("--other-mode", type=_MODES, help="Mode of B, when it is another than that of A.")
@measure_options
@metric_option
@paper_options
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
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Two scored runs are compared on the participants that both scored, two runs of queries on the queries that both
    have. Also shows the items or queries that changed, the settings that differ, and who failed in one of them only.
    Three runs and more, and runs of phrases, are shown in one table, with intervals that are corrected for the number
    of comparisons (Bonferroni) beside the others.

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

    async def read(connection: Connection) -> tuple[bool, list[StoredRun]]:
        is_of_two = not more and (await overviews.get(connection, left)).kind != "tags"
        reader = stored_run if is_of_two else comparable
        return is_of_two, [await reader(connection, run_id) for run_id in run_ids]

    is_of_two, runs = with_database(read)
    if is_of_two:
        if metrics:
            raise click.UsageError("--metric: only for three runs and more, and runs of phrases.")
        wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)
        found = composed_difference(runs, mode, other_mode, options)
        if wanted is None:
            print_difference(found, as_json=as_json)
        else:
            write_difference(found, wanted, output)
        return
    if other_mode is not None or latex or markdown:
        raise click.UsageError("--other-mode, --latex and --markdown go with two runs of participants or queries.")
    if csv and as_json:
        raise click.UsageError("--csv and --json exclude each other; give one of them.")
    if output is not None and not csv:
        raise click.UsageError("--output goes with --csv.")
    several = compared_runs(runs, mode, given_measures(**options))
    print_several(several, metrics, csv=csv, output=output, as_json=as_json)


async def comparable(connection: Connection, run_id: int) -> StoredRun:
    """A run of participants, queries or phrases. Raises RunMissingError, and Refused for any other."""
    kind = (await overviews.get(connection, run_id)).kind
    if kind != "tags":
        return await stored_run(connection, run_id, kind=kind)
    return await tags_run(connection, run_id)
