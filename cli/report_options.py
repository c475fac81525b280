"""How the numbers of a report are made: options that `report` and `diff` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemas.values.reports import Measures

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULTS = Measures()


def measure_options(command: Command) -> Command:
    """Give a command the parameters that `measures` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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
        type=click.Choice(["abs_norm", "abs"]),
        default=_DEFAULTS.loss,
        show_default=True,
        help="What an error of an item costs: |error| / 3, or |error|.",
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
        help="Times the participants are drawn anew for an interval.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=_DEFAULTS.bootstrap_seed,
        show_default=True,
        help="The same seed draws the same participants.",
    ),
    click.option(
        "--total-min-coverage",
        type=click.FloatRange(0, 1),
        default=_DEFAULTS.total_min_coverage,
        show_default=True,
        help="Share of the eight items that need a score for a total.",
    ),
    click.option(
        "--binary-threshold",
        type=click.IntRange(0, 24),
        default=_DEFAULTS.binary_threshold,
        show_default=True,
        help="The total from which a participant counts as depressed.",
    ),
)


def measures(
    *,
    confidence: str,
    loss: str,
    area_coverage: float,
    bootstrap_resamples: int,
    seed: int,
    total_min_coverage: float,
    binary_threshold: int,
) -> Measures:
    """The options of a command as a value."""
    return Measures(
        confidence=confidence,
        loss=loss,
        area_coverage=area_coverage,
        bootstrap_resamples=bootstrap_resamples,
        bootstrap_seed=seed,
        total_min_coverage=total_min_coverage,
        binary_threshold=binary_threshold,
    )
