"""A report of a run of queries as one page that asks nobody for anything."""

from cli.report_page import page
from cli.retrieval_table import made_with, remarks, validator_in_words
from schemas.values.retrieval_reports import RetrievalReport
from services.plots.retrieval import plots
from stages.metrics.retrieval import measure_names


def retrieval_page(report: RetrievalReport) -> str:
    """The page of a run of queries: numbers, names and ids, and no word of a query or a chunk."""
    validator = report.validator
    return page(
        "retrieval.html.j2",
        report=report,
        plots=list(plots(report)),
        measure_names=measure_names(report.measures.cutoff),
        made_with=made_with(report.provenance),
        remarks=[*remarks(report.counts), *([validator_in_words(validator)] if validator else [])],
    )
