"""How the numbers of a report are made: options that `report` and `diff` share."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from cli.options import Choice
from schemas.values.differences import ALLOWED, coverage_grid
from schemas.values.measures import Measures, PredictionMode, RetrievalMeasures

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULTS = Measures()

metric_option = click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="Of several runs: a measure to show. May be repeated."
)


def measure_options(command: Command) -> Command:
    """Give a command the parameters that `chosen_measures` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class CoverageGrid(click.ParamType[tuple[float, ...]]):
    """Coverages, separated by commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        try:
            return coverage_grid(value)
        except ValueError:
            self.fail(f"{value!r}: allowed are {ALLOWED}.", param, ctx)


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
        type=CoverageGrid(),
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
