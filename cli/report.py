"""`ragq report`: a run in numbers."""

from pathlib import Path
from typing import Any

import click

from cli.composed_report import StoredRun, composed_report, print_report, stored_run
from cli.ids import RUN
from cli.options import chosen_prices, prices_option
from cli.output import json_option
from cli.paper.options import paper_format, paper_options
from cli.report_options import measure_options, retrieval_measures
from cli.session import with_database
from services.evaluations import evaluation_report
from store.database import Connection
from store.runs import overviews


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@measure_options
@click.option(
    "--calibrate-on",
    metavar="RUN",
    type=RUN,
    help="Calibrate the confidence on this run of other participants: --confidence calibrated:METHOD:NAME, with "
    "method temperature, isotonic, or logistic, which takes A+B too.  [default: calibrated:temperature:verbalized]",
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a self-contained page with plots to this file: numbers and ids, no word of a transcript or a query.",
)
@prices_option
@paper_options
@json_option
def report(
    run_id: int,
    calibrate_on: int | None,
    page: Path | None,
    price_file: Path | None,
    latex: bool,
    markdown: bool,
    csv: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the results of a run, with 95 % intervals.

    Of participants: errors, coverage and selective prediction; those without item labels count in no metric. Of queries
    with relevance judgements: nDCG, recall, MRR and precision of each ranking along the chain, and precision and recall
    of the validator. Of an evaluation: how far sources and reference answers support the answers. Two reports of the
    same work differ in `timings` alone.

    \b
    Example:
        ragq report r12
        ragq report r12 --html report.html --confidence hybrid_verbalized
        ragq report r12 --latex --output table.tex
        ragq report r15 --cutoff 5
    """
    prices = chosen_prices(price_file)
    wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)
    run_ids = [run_id] if calibrate_on is None else [run_id, calibrate_on]

    async def read(connection: Connection, number: int) -> StoredRun:
        kind = (await overviews.get(connection, number)).kind
        if kind != "evaluation" or number != run_id:
            return await stored_run(connection, number, kind=kind)
        if wanted is not None or page is not None or calibrate_on is not None:
            raise click.UsageError("The report of an evaluation is printed, or given as --json.")
        return await evaluation_report(connection, number, measures=retrieval_measures(**options))

    async def read_all(connection: Connection) -> list[StoredRun]:
        return [await read(connection, number) for number in run_ids]

    found = composed_report(with_database(read_all), options, prices)
    print_report(found, wanted=wanted, output=output, page=page, as_json=as_json)
