"""The report of a run: its numbers, its tables, and a page that asks nobody for anything; and what a run cost."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from schemas.errors import Refused
from schemas.values.costs import Prices, RunCost
from schemas.values.differences import Measures
from schemas.values.evaluations import EvaluationReport
from schemas.values.queries import QueryRun
from schemas.values.reports import Report, RetrievalReport
from schemas.values.runs import ScoredRun
from stages.reports.calibration import DEFAULT, is_calibrated
from stages.reports.costs import run_cost
from stages.reports.evaluation import evaluation_sheet
from stages.reports.report import build_report, measures_of, retrieval_measures_of
from stages.reports.report_sheet import report_sheet
from stages.reports.retrieval import build_retrieval_report, retrieval_sheet
from stages.reports.tables import Sheet
from store.database import Connection
from store.runs import call_costs


def report_of(
    run: ScoredRun | QueryRun,
    chosen: Mapping[str, Any] | None = None,
    *,
    calibrate_on: ScoredRun | QueryRun | None = None,
    prices: Prices | None = None,
) -> Report | RetrievalReport:
    """The report of a run with the chosen measures; the others are those of the run, or the default ones.

    Raises Refused for measures of another kind of run, and for what cannot be calibrated.
    """
    if isinstance(run, QueryRun) or isinstance(calibrate_on, QueryRun):
        if calibrate_on is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        return build_retrieval_report(run, measures=retrieval_measures_of(chosen or {}), prices=prices)
    measures = measures_of(run.settings, chosen or {})
    if calibrate_on is not None and not is_calibrated(measures.confidence):
        if measures.confidence != Measures().confidence:
            raise Refused(
                "--calibrate-on goes with a calibrated confidence: --confidence "
                f"calibrated:isotonic:{measures.confidence}"
            )
        measures = measures.model_copy(update={"confidence": DEFAULT})
    return build_report(run, measures=measures, calibrate_on=calibrate_on, prices=prices)


def sheet_of(report: Report | RetrievalReport | EvaluationReport) -> Sheet:
    """The tables of a report, and what has to be known about them."""
    match report:
        case Report():
            return report_sheet(report)
        case RetrievalReport():
            return retrieval_sheet(report)
        case EvaluationReport():
            return evaluation_sheet(report)


def report_page(report: Report | RetrievalReport) -> str:
    """A report as one page with styles and plots. Of queries it has numbers, names and ids, and no word of theirs.

    Every text of it is escaped; the same values give the same bytes.
    """
    # Drawing loads Matplotlib, which takes a second.
    from services.plots import plots_of

    environment = Environment(
        loader=PackageLoader("services", "report_html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(sheet=sheet_of(report), plots=plots_of(report))


async def cost_of_run(
    connection: Connection, run_id: int, prices: Prices | None = None, *, by_job: bool = False
) -> RunCost:
    """The cost of a run up to now, on request of each of its jobs too."""
    return run_cost(await call_costs.of_run(connection, run_id, by_job=by_job), prices)
