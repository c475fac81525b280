"""`ragq report`: a run in numbers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from cli.drawing import Drawing
from cli.evaluation_table import evaluation_table
from cli.ids import RUN
from cli.output import draw, json_option, print_json
from cli.paper.options import paper_format, paper_options, write
from cli.paper.retrieval import retrieval_tables
from cli.paper.scored import report_tables
from cli.prices import chosen_prices, prices_option
from cli.report_options import chosen_measures, measure_options, retrieval_measures
from cli.report_table import report_table
from cli.retrieval_table import retrieval_table
from cli.session import with_database
from schemas.errors import Refused
from schemas.values.evaluation_reports import EvaluationReport
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Measures, Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.scored_runs import ScoredRun
from services.evaluation_reports import evaluation_report, is_evaluation
from stages.reports import calibrated
from stages.reports.calibrated import is_calibrated
from stages.reports.measures import measures_of
from stages.reports.report import build_report
from stages.reports.report_numbers import report_numbers, retrieval_numbers
from stages.reports.retrieval import build_retrieval_report
from store.database import Connection
from store.views.reported_runs import reported_run

Shown = TypeVar("Shown", Report, RetrievalReport)


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

    async def both(
        connection: Connection,
    ) -> tuple[ScoredRun | QueryRun | EvaluationReport, ScoredRun | QueryRun | None]:
        if await is_evaluation(connection, run_id):
            if wanted is not None or page is not None or calibrate_on is not None:
                raise click.UsageError("The report of an evaluation is printed, or given as --json.")
            return await evaluation_report(connection, run_id, measures=retrieval_measures(**options)), None
        run = await reported_run(connection, run_id)
        return run, None if calibrate_on is None else await reported_run(connection, calibrate_on)

    run, other = with_database(both)
    if isinstance(run, EvaluationReport):
        if as_json:
            print_json(run.model_dump(mode="json"))
        else:
            draw(evaluation_table(run))
    elif isinstance(run, QueryRun) or isinstance(other, QueryRun):
        if other is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        retrieval = build_retrieval_report(run, measures=retrieval_measures(**options), prices=prices)
        if wanted is not None:
            tables, numbers = retrieval_tables(retrieval), retrieval_numbers(retrieval)
            write(wanted, tables=tables, numbers=numbers, confidence=None, output=output)
        _show(retrieval, retrieval_table, _draw_retrieval, page, as_json=as_json, in_terminal=wanted is None)
    else:
        scored = build_report(run, measures=_measures(run, other, options), calibrate_on=other, prices=prices)
        if wanted is not None:
            tables, numbers = report_tables(scored), report_numbers(scored)
            write(wanted, tables=tables, numbers=numbers, confidence=scored.measures.confidence, output=output)
        _show(scored, report_table, _draw_report, page, as_json=as_json, in_terminal=wanted is None)


def _measures(run: ScoredRun, other: ScoredRun | None, options: Mapping[str, Any]) -> Measures:
    found = measures_of(run.settings, chosen_measures(**options))
    if other is None or is_calibrated(found.confidence):
        return found
    if found.confidence != Measures().confidence:
        raise click.UsageError(
            f"--calibrate-on goes with a calibrated confidence: --confidence calibrated:isotonic:{found.confidence}"
        )
    return found.model_copy(update={"confidence": calibrated.DEFAULT})


def _show(
    found: Shown,
    table: Callable[[Shown], Drawing],
    html: Callable[[Shown], str],
    page: Path | None,
    *,
    as_json: bool,
    in_terminal: bool,
) -> None:
    if page is not None:
        page.write_text(html(found), encoding="utf-8")
        draw(f"Wrote {page}.", err=True)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif in_terminal and page is None:
        draw(table(found))


# Drawing takes a second to load.
def _draw_report(found: Report) -> str:
    from services.report_pages.pages import report_page

    return report_page(found)


def _draw_retrieval(found: RetrievalReport) -> str:
    from services.report_pages.pages import retrieval_page

    return retrieval_page(found)
