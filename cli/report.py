"""`ragq report`: a run in numbers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from cli.config import with_database
from cli.ids import RUN
from cli.options import Choice, Typed, chosen_prices, prices_option
from cli.output import draw, json_option, print_json
from cli.sheets import PaperFormat, draw_sheets, paper_format, paper_options, write
from schemas.errors import Refused
from schemas.values.differences import ALLOWED, Measures, PredictionMode, RetrievalMeasures, coverage_grid
from schemas.values.estimates import Prices
from schemas.values.evaluations import EvaluationReport
from schemas.values.queries import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.runs import ScoredRun
from services.evaluations import evaluation_report
from services.reports import report_page, sheet_of
from stages.reports import calibration
from stages.reports.calibration import is_calibrated
from stages.reports.report import build_report, measures_of
from stages.reports.retrieval import build_retrieval_report
from store.database import Connection
from store.runs import overviews
from store.views import reported_run

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULTS = Measures()

metric_option = click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="A measure to show instead of all. May be repeated."
)


def measure_options(command: Command) -> Command:
    """Give a command the parameters that `chosen_measures` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _coverages(value: str) -> tuple[float, ...]:
    try:
        return coverage_grid(value)
    except ValueError:
        raise ValueError(f"{value!r}: allowed are {ALLOWED}.") from None


_OPTIONS = (
    click.option(
        "--confidence",
        metavar="NAME",
        default=_DEFAULTS.confidence,
        show_default=True,
        help="What a score's confidence is; a report lists all names. secondary:A+B:average (or :product) joins two.",
    ),
    click.option(
        "--loss",
        type=Choice(["abs_norm", "abs"]),
        default=_DEFAULTS.loss,
        show_default=True,
        help="The loss of an item's error: |error| / 3, or |error|.",
    ),
    click.option(
        "--coverage-grid",
        metavar="LIST",
        type=Typed("LIST", _coverages),
        help="Coverages at which the risk is shown, e.g. 0.1,0.25,0.5.  [default: RAGQ_COVERAGE_GRID of the run]",
    ),
    click.option(
        "--area-coverage",
        type=click.FloatRange(0, 1, min_open=True),
        default=_DEFAULTS.area_coverage,
        show_default=True,
        help="Coverage at which truncated areas end.",
    ),
    click.option(
        "--bootstrap-resamples",
        type=click.IntRange(2, 1_000_000),
        default=_DEFAULTS.bootstrap_resamples,
        show_default=True,
        help="Times the participants, or queries, are drawn anew for an interval.",
    ),
    click.option(
        "--seed",
        "bootstrap_seed",
        type=click.IntRange(0, 2**32 - 1),
        default=_DEFAULTS.bootstrap_seed,
        show_default=True,
        help="The same seed draws the same.",
    ),
    click.option(
        "--prediction-mode",
        type=Choice(get_args(PredictionMode)),
        help="Show scores of items, totals, or depressed or not first.  [default: PREDICTION_MODE of the run]",
    ),
    click.option(
        "--total-min-coverage",
        type=click.FloatRange(0, 1),
        help="Share of the eight items that need a score for a total.  [default: TOTAL_SCORE_MIN_COVERAGE of the run]",
    ),
    click.option(
        "--binary-threshold",
        type=click.IntRange(0, 24),
        help="The total from which a participant counts as depressed.  [default: BINARY_THRESHOLD of the run]",
    ),
    click.option(
        "--cutoff",
        type=click.IntRange(1, 100),
        default=RetrievalMeasures().cutoff,
        show_default=True,
        help="Documents from the top that count, of a run of queries.",
    ),
)


def chosen_measures(*, cutoff: int, **of_scores: Any) -> dict[str, Any]:
    """The measures that the options of a command name; the run has the others, or they are the defaults.

    Raises UsageError for an option that only runs of queries have.
    """
    _refuse(["cutoff"], "a run of queries")
    return {name: value for name, value in of_scores.items() if value is not None}


def retrieval_measures(
    *, cutoff: int, bootstrap_resamples: int, bootstrap_seed: int, **of_scores: Any
) -> RetrievalMeasures:
    """The measures of a run of queries. Raises UsageError for an option that only scored runs have."""
    _refuse(of_scores, "a scored run")
    return RetrievalMeasures(cutoff=cutoff, bootstrap_resamples=bootstrap_resamples, bootstrap_seed=bootstrap_seed)


def given_measures(**options: Any) -> dict[str, Any]:
    """The measures that the command line names, of runs of any kind; the others are those of the runs."""
    context = click.get_current_context()
    return {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


def _refuse(names: Iterable[str], belongs_to: str) -> None:
    context = click.get_current_context()
    given = [name for name in names if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.UsageError(f"{options}: only for {belongs_to}.")


Reported = ScoredRun | QueryRun
AnyReport = Report | RetrievalReport | EvaluationReport


def composed_report(
    run: Reported, other: Reported | None, options: Mapping[str, Any], prices: Prices | None
) -> Report | RetrievalReport:
    """The report of a run, calibrated on the other if there is one."""
    if isinstance(run, QueryRun) or isinstance(other, QueryRun):
        if other is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        return build_retrieval_report(run, measures=retrieval_measures(**options), prices=prices)
    return build_report(run, measures=_measures(run, other, options), calibrate_on=other, prices=prices)


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


def _measures(run: ScoredRun, other: ScoredRun | None, options: Mapping[str, Any]) -> Measures:
    found = measures_of(run.settings, chosen_measures(**options))
    if other is None or is_calibrated(found.confidence):
        return found
    if found.confidence != Measures().confidence:
        raise click.UsageError(
            f"--calibrate-on goes with a calibrated confidence: --confidence calibrated:isotonic:{found.confidence}"
        )
    return replace(found, confidence=calibration.DEFAULT)


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

    async def read(connection: Connection) -> EvaluationReport | tuple[Reported, Reported | None]:
        if (await overviews.get(connection, run_id)).kind != "evaluation":
            run = await reported_run(connection, run_id)
            return run, None if calibrate_on is None else await reported_run(connection, calibrate_on)
        if wanted is not None or page is not None or calibrate_on is not None:
            raise click.UsageError("The report of an evaluation is printed, or given as --json.")
        return await evaluation_report(connection, run_id, measures=retrieval_measures(**options))

    stored = with_database(read)
    found = stored if isinstance(stored, EvaluationReport) else composed_report(*stored, options, prices)
    print_report(found, wanted=wanted, output=output, page=page, as_json=as_json)
