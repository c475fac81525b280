"""`ragq report`: a scored run in numbers."""

from pathlib import Path
from typing import Any

import click

from cli.ids import RUN
from cli.output import console, notices, print_json
from cli.report_options import measure_options, measures
from cli.report_table import report_table
from cli.session import with_database
from schemas.errors import Refused
from schemas.values.scored_runs import ScoredRun
from stages.reports.report import build_report
from store import scored_runs
from store.database import Connection


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@measure_options
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a self-contained page with plots to this file: numbers and ids, and no word of a transcript.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(run_id: int, page: Path | None, as_json: bool, **options: Any) -> None:
    """Show what a scored run came to: errors, coverage and selective prediction, with 95 % intervals.

    Two reports of the same work differ in `timings` alone. Participants without item labels count in no metric.

    \b
    Example:
        ragq report r12
        ragq report r12 --html report.html --confidence hybrid_verbalized
    """
    found = build_report(with_database(lambda connection: read(connection, run_id)), measures=measures(**options))
    if page is not None:
        # Drawing takes a second to load.
        from cli.report_page import report_page

        page.write_text(report_page(found), encoding="utf-8")
        notices().print(f"Wrote {page}.", markup=False)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif page is None:
        console().print(report_table(found))


async def read(connection: Connection, run_id: int) -> ScoredRun:
    """The run, or Refused when there is none of that number or nothing of it is scored."""
    run = await scored_runs.scored_run(connection, run_id)
    if run is None:
        raise Refused(f"Run r{run_id} does not exist. `ragq runs` lists those that do.")
    return run
