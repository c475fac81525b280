"""A report as one page that asks nobody for anything: styles and plots are inside it."""

from collections.abc import Iterable

from jinja2 import Environment, PackageLoader, StrictUndefined

from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from services import plots
from stages.reports.report_sheet import report_sheet
from stages.reports.retrieval_sheet import retrieval_sheet
from stages.reports.tables import Sheet


def report_page(report: Report) -> str:
    """The page of a scored run."""
    return _page(report_sheet(report), plots.scored_plots(report))


def retrieval_page(report: RetrievalReport) -> str:
    """The page of a run of queries: numbers, names and ids, and no word of a query or a chunk."""
    return _page(retrieval_sheet(report), plots.retrieval_plots(report))


def _page(sheet: Sheet, drawn: Iterable[tuple[str, str]]) -> str:
    """Every text of it is escaped; the same values give the same bytes."""
    environment = Environment(
        loader=PackageLoader("services", "report_html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(sheet=sheet, plots=list(drawn))
