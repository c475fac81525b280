"""The report of a run: its numbers, its tables, and a page that asks nobody for anything."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from schemas.values.differences import RetrievalMeasures
from schemas.values.evaluations import EvaluationReport
from schemas.values.queries import QueryRun
from schemas.values.reports import Report, RetrievalReport
from schemas.values.runs import ScoredRun
from stages.reports.report import build_report, measures_of
from stages.reports.report_sheet import report_sheet
from stages.reports.retrieval import build_retrieval_report
from stages.reports.retrieval_sheet import evaluation_sheet, retrieval_sheet
from stages.reports.tables import Sheet


def report_of(run: ScoredRun | QueryRun) -> Report | RetrievalReport:
    """The report of a run with the measures of the run, or the default ones."""
    if isinstance(run, QueryRun):
        return build_retrieval_report(run, measures=RetrievalMeasures())
    return build_report(run, measures=measures_of(run.settings, {}))


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
    return environment.get_template("report.html.j2").render(sheet=sheet_of(report), plots=list(plots_of(report)))
