"""`ragq report`: a run in numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.config import with_database
from cli.ids import RUN
from cli.options import given, known_prices, request_options
from cli.output import draw, json_option, print_json
from cli.sheets import PaperFormat, draw_sheets, paper_format, paper_options, write
from schemas.errors import Refused
from schemas.values.differences import ChosenMeasures, Measures, RetrievalMeasures
from schemas.values.estimates import Prices
from schemas.values.evaluations import EvaluationReport
from schemas.values.queries import QueryRun
from schemas.values.reports import Report, RetrievalReport
from schemas.values.runs import ScoredRun
from services.evaluations import evaluation_report
from services.reports import report_page, sheet_of
from stages.reports import calibration
from stages.reports.calibration import is_calibrated
from stages.reports.report import build_report, measures_of, retrieval_measures_of
from stages.reports.retrieval import build_retrieval_report
from store.database import Connection
from store.runs import overviews
from store.views import reported_run

metric_option = click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="A measure to show instead of all. May be repeated."
)


measure_options = request_options(ChosenMeasures, *ChosenMeasures.model_fields)


def _of(kind: type[Measures | RetrievalMeasures], chosen: Mapping[str, Any], *, other: str) -> Mapping[str, Any]:
    """The chosen measures. Raises UsageError for those that another kind of run has."""
    if strange := [f"--{name.replace('_', '-')}" for name in chosen if name not in kind.model_fields]:
        raise click.UsageError(f"{', '.join(strange)}: only for {other}.")
    return chosen


def _retrieval_measures(chosen: Mapping[str, Any]) -> RetrievalMeasures:
    return retrieval_measures_of(_of(RetrievalMeasures, chosen, other="a scored run"))


Reported = ScoredRun | QueryRun
AnyReport = Report | RetrievalReport | EvaluationReport


def composed_report(
    run: Reported, other: Reported | None, chosen: Mapping[str, Any], prices: Prices | None
) -> Report | RetrievalReport:
    """The report of a run, calibrated on the other if there is one."""
    if isinstance(run, QueryRun) or isinstance(other, QueryRun):
        if other is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        return build_retrieval_report(run, measures=_retrieval_measures(chosen), prices=prices)
    return build_report(run, measures=_measures(run, other, chosen), calibrate_on=other, prices=prices)


def print_report(
    found: AnyReport, *, wanted: PaperFormat | None, output: Path | None, page: Path | None, as_json: bool
) -> None:
    """Print a report, for a paper too, or write it as a page."""
    if as_json:
        print_json(found)
    elif wanted is not None:
        write([sheet_of(found)], wanted, output)
    elif page is None:
        draw_sheets([sheet_of(found)])
    if page is not None and not isinstance(found, EvaluationReport):
        page.write_text(report_page(found), encoding="utf-8")
        draw(f"Wrote {page}.", err=True)


def _measures(run: ScoredRun, other: ScoredRun | None, chosen: Mapping[str, Any]) -> Measures:
    found = measures_of(run.settings, _of(Measures, chosen, other="a run of queries"))
    if other is None or is_calibrated(found.confidence):
        return found
    if found.confidence != Measures().confidence:
        raise click.UsageError(
            f"--calibrate-on goes with a calibrated confidence: --confidence calibrated:isotonic:{found.confidence}"
        )
    return found.model_copy(update={"confidence": calibration.DEFAULT})


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
@paper_options
@json_option
def report(
    run_id: int,
    calibrate_on: int | None,
    page: Path | None,
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
    prices = known_prices()
    chosen = given(options)
    wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)

    async def read(connection: Connection) -> EvaluationReport | tuple[Reported, Reported | None]:
        if (await overviews.get(connection, run_id)).kind != "evaluation":
            run = await reported_run(connection, run_id)
            return run, None if calibrate_on is None else await reported_run(connection, calibrate_on)
        if wanted is not None or page is not None or calibrate_on is not None:
            raise click.UsageError("The report of an evaluation is printed, or given as --json.")
        return await evaluation_report(connection, run_id, measures=_retrieval_measures(chosen))

    stored = with_database(read)
    found = stored if isinstance(stored, EvaluationReport) else composed_report(*stored, chosen, prices)
    print_report(found, wanted=wanted, output=output, page=page, as_json=as_json)
