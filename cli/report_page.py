"""A report as one page that asks nobody for anything: styles and plots are inside it."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from cli.prediction_table import definitions
from schemas.settings.words import value_in_words
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Report
from services.plots.scored import plots
from stages.reports import numbers_in_words
from stages.reports.origin_words import origin_words
from stages.reports.reference_counts import over_all_items


def report_page(report: Report) -> str:
    """The page of a scored run."""
    return page(
        "report.html.j2",
        report=report,
        definitions=definitions(report.measures),
        plots=list(plots(report)),
        items=list(PHQ8Item),
    )


def page(template: str, **values: Any) -> str:
    """A page from a template. Every text in it is escaped; the same values give the same bytes."""
    environment = Environment(
        loader=PackageLoader("cli", "templates"),
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
    }
    return environment.get_template(template).render(**values)
