"""A report as one page that asks nobody for anything: styles and plots are inside it."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from schemas.settings.base import value_in_words
from schemas.values.participants import PHQ8Item
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from services import plots
from stages.metrics.selective import measure_names
from stages.reports import numbers_in_words
from stages.reports.costs import cost_words
from stages.reports.report import over_all_items
from stages.reports.retrieval import made_with, remarks, validator_in_words
from stages.reports.score_table import baseline_remarks, by_name
from stages.reports.words import definitions, interval_words, origin_words


def report_page(report: Report) -> str:
    """The page of a scored run."""
    return _page(
        "report.html.j2",
        report=report,
        definitions=definitions(report.measures),
        interval_words=interval_words(report),
        baseline_remarks=baseline_remarks(report),
        plots=list(plots.scored_plots(report)),
        items=list(PHQ8Item),
    )


def retrieval_page(report: RetrievalReport) -> str:
    """The page of a run of queries: numbers, names and ids, and no word of a query or a chunk."""
    validator = report.validator
    return _page(
        "retrieval.html.j2",
        report=report,
        plots=list(plots.retrieval_plots(report)),
        measure_names=measure_names(report.measures.cutoff),
        made_with=made_with(report.provenance),
        remarks=[*remarks(report.counts), *([validator_in_words(validator)] if validator else [])],
    )


def _page(template: str, **values: Any) -> str:
    """A page from a template. Every text in it is escaped; the same values give the same bytes."""
    environment = Environment(
        loader=PackageLoader("services", "report_html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": numbers_in_words.number,
        "percent": numbers_in_words.percent,
        "bounds": numbers_in_words.bounds,
        "percent_bounds": numbers_in_words.percent_bounds,
        "duration": numbers_in_words.duration,
        "words": value_in_words,
        "origin_words": origin_words,
        "counts_or_none": numbers_in_words.counts_or_none,
        "over_all_items": over_all_items,
        "by_name": by_name,
        "cost_words": cost_words,
    }
    return environment.get_template(template).render(**values)
