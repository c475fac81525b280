"""A report from the rows of its run, and how it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import click

from cli.drawing import Drawing
from cli.output import draw, print_json
from cli.paper.options import PaperFormat
from cli.paper.retrieval import retrieval_tables
from cli.paper.scored import report_tables
from cli.paper.writing import write
from cli.report_options import chosen_measures, retrieval_measures
from cli.report_table import evaluation_table, report_table
from cli.retrieval_table import retrieval_table
from schemas.errors import Refused, RunMissingError
from schemas.values.costs import Prices
from schemas.values.evaluations import EvaluationReport
from schemas.values.measures import Measures
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.scored_runs import ScoredRun
from stages.reports import calibrated
from stages.reports.calibrated import is_calibrated
from stages.reports.report import build_report, measures_of
from stages.reports.report_numbers import report_numbers, retrieval_numbers
from stages.reports.retrieval import build_retrieval_report
from store.database import Connection
from store.questions.query_runs import query_run
from store.runs import overviews
from store.runs.scored_rows import ScoredRows, scored_rows
from store.runs.scored_runs import as_scored_run

StoredRun: TypeAlias = Any
"""What `stored_run` reads, or what a command reads instead."""


async def stored_run(connection: Connection, run_id: int, *, kind: str | None = None) -> StoredRun:
    """A run of participants or queries, read without what its statistics need. `kind` is its kind, where it is known.

    Raises RunMissingError, and Refused when nothing can be reported.
    """
    if (kind or (await overviews.get(connection, run_id)).kind) == "query":
        found: StoredRun = await query_run(connection, run_id)
    else:
        found = await scored_rows(connection, run_id)
    if found is None:
        raise RunMissingError(run_id)
    return found


AnyReport = Report | RetrievalReport | EvaluationReport


def composed_report(
    runs: Sequence[StoredRun | EvaluationReport], options: Mapping[str, Any], prices: Prices | None
) -> AnyReport:
    """The report of the first run, calibrated on the second if there is one."""
    run, *others = runs
    if isinstance(run, EvaluationReport):
        return run
    run, other = as_run(run), as_run(others[0]) if others else None
    if isinstance(run, QueryRun) or isinstance(other, QueryRun):
        if other is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        return build_retrieval_report(run, measures=retrieval_measures(**options), prices=prices)
    return build_report(run, measures=_measures(run, other, options), calibrate_on=other, prices=prices)


def as_run(stored: StoredRun) -> ScoredRun | QueryRun:
    """The run of what `stored_run` read."""
    if isinstance(stored, QueryRun):
        return stored
    return as_scored_run(stored) if isinstance(stored, ScoredRows) else stored


def print_report(
    found: AnyReport, *, wanted: PaperFormat | None, output: Path | None, page: Path | None, as_json: bool
) -> None:
    """Print a report, for a paper too, or write it as a page."""
    if as_json:
        print_json(found)
    elif wanted is None and page is None:
        draw(_table(found))
    if wanted is not None and isinstance(found, Report):
        tables, numbers = report_tables(found), report_numbers(found)
        write(wanted, tables=tables, numbers=numbers, confidence=found.measures.confidence, output=output)
    elif wanted is not None and isinstance(found, RetrievalReport):
        tables, numbers = retrieval_tables(found), retrieval_numbers(found)
        write(wanted, tables=tables, numbers=numbers, confidence=None, output=output)
    if page is not None and not isinstance(found, EvaluationReport):
        page.write_text(_page(found), encoding="utf-8")
        draw(f"Wrote {page}.", err=True)


def _table(found: AnyReport) -> Drawing:
    match found:
        case Report():
            return report_table(found)
        case RetrievalReport():
            return retrieval_table(found)
        case EvaluationReport():
            return evaluation_table(found)


def _page(found: Report | RetrievalReport) -> str:
    # Drawing takes a second to load.
    from services.report_pages.pages import report_page, retrieval_page

    return report_page(found) if isinstance(found, Report) else retrieval_page(found)


def _measures(run: ScoredRun, other: ScoredRun | None, options: Mapping[str, Any]) -> Measures:
    found = measures_of(run.settings, chosen_measures(**options))
    if other is None or is_calibrated(found.confidence):
        return found
    if found.confidence != Measures().confidence:
        raise click.UsageError(
            f"--calibrate-on goes with a calibrated confidence: --confidence calibrated:isotonic:{found.confidence}"
        )
    return replace(found, confidence=calibrated.DEFAULT)
