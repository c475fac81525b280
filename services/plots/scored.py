"""The plots of a report of a scored run."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, Protocol

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.reports import Experiment, Report
from services.plots.svg import FIRST, INK, MUTED, SECOND, svg, whiskers

_COLOUR_OF: Final[Mapping[AssessmentMode, str]] = {
    AssessmentMode.ZERO_SHOT: FIRST,
    AssessmentMode.FEW_SHOT: SECOND,
}


class Draw(Protocol):
    """Draws one plot of a report."""

    def __call__(self, axes: Axes, report: Report) -> None: ...


def scored_plots(report: Report) -> Iterator[tuple[str, Markup]]:
    """Each plot that the report has data for: its title, and the SVG."""
    for title, draw in _plots(report).items():
        yield title, svg(title, partial(draw, report=report))


def _plots(report: Report) -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    if any(experiment.selective_prediction.chosen.curve for experiment in report.experiments):
        found["Risk over coverage, with its 95 % band"] = draw_risk_over_coverage
        found["Mean absolute error per item"] = draw_error_per_item
        found["Coverage per item"] = _coverage_per_item
    if any(experiment.calibration for experiment in report.experiments):
        found["Calibration: how often scores of a confidence are exact"] = _calibration
    if report.failures.total:
        found["Failures by category"] = _failures
    return found


def draw_risk_over_coverage(axes: Axes, report: Report) -> None:
    """The risk curve of each mode, with its band."""
    for experiment in report.experiments:
        mode, chosen = experiment.results.mode, experiment.selective_prediction.chosen
        if not chosen.curve:
            continue
        coverages = [0.0, *(point.coverage for point in chosen.curve)]
        risks = [chosen.curve[0].selective_risk, *(point.selective_risk for point in chosen.curve)]
        colour = _COLOUR_OF[mode]
        axes.fill_between(
            [point.coverage for point in chosen.band],
            [point.low for point in chosen.band],
            [point.high for point in chosen.band],
            step="pre",
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
        axes.plot(coverages, risks, color=colour, drawstyle="steps-pre", linewidth=1.4, label=_words(mode))
        axes.plot(coverages[1:], risks[1:], color=colour, marker="o", markersize=3, linestyle="none")
    axes.set(xlabel="coverage (share of all items)", ylabel="risk (mean loss of taken items)", xlim=(0, 1))
    axes.set_ylim(bottom=0)
    _name_modes(axes)


def draw_error_per_item(axes: Axes, report: Report) -> None:
    """The error of each item and mode, with its interval."""
    for place, experiment in _side_by_side(report):
        results = experiment.results
        found = {item: results.per_item[item].mae_interval for item in PHQ8Item}
        drawn = [item for item, interval in found.items() if interval.value is not None]
        values = [found[item].value or 0.0 for item in drawn]
        axes.errorbar(
            values,
            [_row(item) + place for item in drawn],
            xerr=whiskers([found[item] for item in drawn]),
            fmt="o",
            markersize=4,
            linewidth=1.2,
            color=_COLOUR_OF[results.mode],
            label=_words(results.mode),
        )
    _name_items(axes)
    axes.set(xlabel="mean absolute error, with 95 % interval")
    # Slightly below 0, so that a point at 0 is fully visible.
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    _name_modes(axes)


def _coverage_per_item(axes: Axes, report: Report) -> None:
    for place, experiment in _side_by_side(report):
        results = experiment.results
        found = {item: results.per_item[item].coverage for item in PHQ8Item}
        shares = {item: share for item, share in found.items() if share is not None}
        axes.barh(
            [_row(item) + place for item in shares],
            list(shares.values()),
            height=0.34,
            color=_COLOUR_OF[results.mode],
            label=_words(results.mode),
        )
    _name_items(axes)
    axes.set(xlabel="share of evaluated participants with a score", xlim=(0, 1))
    _name_modes(axes)


def _calibration(axes: Axes, report: Report) -> None:
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":", label="perfect")
    for experiment in report.experiments:
        calibration, mode = experiment.calibration, experiment.results.mode
        if calibration is None:
            continue
        bins = [found for found in calibration.bins if found.count]
        axes.plot(
            [found.confidence or 0.0 for found in bins],
            [found.exact or 0.0 for found in bins],
            color=_COLOUR_OF[mode],
            marker="o",
            markersize=4,
            linewidth=1.2,
            label=_words(mode),
        )
    names = dict.fromkeys(one.calibration.confidence for one in report.experiments if one.calibration)
    axes.set(
        xlabel=f"mean confidence of a bin ({', '.join(names)})",
        ylabel="share of exact scores",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    _name_modes(axes)


def _failures(axes: Axes, report: Report) -> None:
    counts = report.failures.by_category
    bars = axes.barh(list(counts), list(counts.values()), height=0.4, color=MUTED)
    axes.bar_label(bars, padding=3)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(
        xlabel="unresolved failures", xlim=(0, 1.15 * max(counts.values())), ylim=(max(len(counts), 4) - 0.5, -0.5)
    )


def _side_by_side(report: Report) -> Iterator[tuple[float, Experiment]]:
    """The offset from its row of each mode with evaluated participants, so that none hides another."""
    drawn = [experiment for experiment in report.experiments if experiment.results.evaluated_subjects]
    count = len(drawn)
    for number, experiment in enumerate(drawn):
        yield 0.36 * (number - (count - 1) / 2), experiment


def _row(item: PHQ8Item) -> float:
    return float(list(PHQ8Item).index(item))


def _name_items(axes: Axes) -> None:
    axes.set_yticks(range(len(PHQ8Item)), [item.value for item in PHQ8Item])
    axes.set_ylim(len(PHQ8Item) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _name_modes(axes: Axes) -> None:
    """Above the plot, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.4, columnspacing=1.2)


def _words(mode: AssessmentMode) -> str:
    return mode.value.replace("_", "-")
