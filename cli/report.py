"""`ragq report`: a run in numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import RenderableType

from cli.ids import RUN
from cli.output import console, notices, print_json
from cli.report_options import chosen_measures, measure_options, retrieval_measures
from cli.report_table import report_table
from cli.retrieval_table import retrieval_table
from cli.session import with_database
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from stages.reports.measures import measures_of
from stages.reports.report import build_report
from stages.reports.retrieval import build_retrieval_report
from store.views.reported_runs import reported_run

Shown = TypeVar("Shown", Report, RetrievalReport)


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@measure_options
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a self-contained page with plots to this file: numbers and ids, no word of a transcript or a query.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(run_id: int, page: Path | None, as_json: bool, **options: Any) -> None:
    """Show the results of a run, with 95 % intervals.

    Of participants: errors, coverage and selective prediction; those without item labels count in no metric. Of queries
    with relevance judgements: nDCG, recall, MRR and precision of each ranking along the chain, and the agreement of the
    validator. Two reports of the same work differ in `timings` alone.

    \b
    Example:
        ragq report r12
        ragq report r12 --html report.html --confidence hybrid_verbalized
        ragq report r15 --cutoff 5
    """
    run = with_database(lambda connection: reported_run(connection, run_id))
    if isinstance(run, QueryRun):
        retrieval = build_retrieval_report(run, measures=retrieval_measures(**options))
        _show(retrieval, retrieval_table, _draw_retrieval, page, as_json=as_json)
    else:
        scored = build_report(run, measures=measures_of(run.settings, chosen_measures(**options)))
        _show(scored, report_table, _draw_report, page, as_json=as_json)


def _show(
    found: Shown,
    table: Callable[[Shown], RenderableType],
    draw: Callable[[Shown], str],
    page: Path | None,
    *,
    as_json: bool,
) -> None:
    if page is not None:
        page.write_text(draw(found), encoding="utf-8")
        notices().print(f"Wrote {page}.", markup=False)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif page is None:
        console().print(table(found))


# Drawing takes a second to load.
def _draw_report(found: Report) -> str:
    from cli.report_page import report_page

    return report_page(found)


def _draw_retrieval(found: RetrievalReport) -> str:
    from cli.retrieval_page import retrieval_page

    return retrieval_page(found)
