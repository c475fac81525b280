"""Plots of scored runs and of retrieval, as SVG and PNG."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.reports import Report, RetrievalReport
from schemas.values.scoring import Interval
from stages.metrics.selective import measure_names

INK, GRID, FIRST, SECOND = "#1d2330", "#d5dae2", "#2364aa", "#bf5413"
#: On a page the colours are those of its style, which has others in the dark.
_ON_PAGE: Final = {INK: "var(--ink)", GRID: "var(--line)", FIRST: "var(--first)", SECOND: "var(--second)"}
_COLOUR_OF: Final = {AssessmentMode.ZERO_SHOT: FIRST, AssessmentMode.FEW_SHOT: SECOND}

# Narrow enough for legible text on a phone, where a plot is as wide as the screen.
_INCHES: Final = (4.6, 3.1)

_STYLE: Final[dict[str, Any]] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
}


class Plot(NamedTuple):
    """A plot of a report."""

    kind: str
    title: str
    draw: Callable[[Axes], None]

    def as_file(self, ending: str) -> bytes:
        """An `svg` without a ground, or a `png` on white."""
        # Ids are hashes of their content: without its own salt, one plot would use another's clipping.
        with style.context(["default", {**_STYLE, "svg.hashsalt": self.title}]):
            figure = Figure(figsize=_INCHES, layout="constrained")
            self.draw(figure.add_subplot())
            written = BytesIO()
            metadata = dict.fromkeys(("Date", "Creator", "Format", "Type") if ending == "svg" else ("Software",))
            figure.savefig(written, format=ending, dpi=200, transparent=ending == "svg", metadata=metadata)
        return written.getvalue()

    def on_page(self) -> Markup:
        """The SVG as an element of a page, labelled by the title."""
        _, _, drawn = self.as_file("svg").decode().partition("<svg")
        _, _, inside = drawn.partition(">")
        # Several plots of one page would have them in common.
        inside = re.sub(r' id="[\w.]+_\d{1,3}"', "", inside)
        for colour, variable in _ON_PAGE.items():
            inside = inside.replace(colour, variable)
        width, height = (72 * inches for inches in _INCHES)
        # Matplotlib wrote it and escaped its content.
        head = Markup('<svg viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">').format(width, height, self.title)
        return head + Markup(inside)


def plots_of(report: Report | RetrievalReport) -> list[Plot]:
    """Each plot that the report has data for."""
    if isinstance(report, RetrievalReport):
        name = measure_names(report.measures.cutoff)[0]
        title = f"{name} per ranking, with 95 % intervals"
        return [Plot("ranking", title, partial(_ranking, report, name))] if report.stages else []
    found = []
    if any(experiment.selective_prediction.chosen.curve for experiment in report.experiments):
        found += [
            Plot("risk", "Risk over coverage, with 95 % intervals", partial(_risk_over_coverage, report)),
            Plot("items", "Mean absolute error per item, with 95 % intervals", partial(_error_per_item, report)),
        ]
    if any(experiment.calibration for experiment in report.experiments):
        title = "Calibration: how often scores of a confidence are exact"
        found.append(Plot("calibration", title, partial(_calibration, report)))
    return found


def _risk_over_coverage(report: Report, axes: Axes) -> None:
    """The risk curve of each mode, with the intervals at the coverages of the grid."""
    for experiment in report.experiments:
        mode, chosen = experiment.results.mode, experiment.selective_prediction.chosen
        if not chosen.curve:
            continue
        coverages = [0.0, *(point.coverage for point in chosen.curve)]
        risks = [chosen.curve[0].selective_risk, *(point.selective_risk for point in chosen.curve)]
        colour = _COLOUR_OF[mode]
        grid = {float(name): at.risk for name, at in chosen.risk_at_coverage.items() if at.risk.high is not None}
        lows, highs = ([getattr(risk, end) for risk in grid.values()] for end in ("low", "high"))
        axes.fill_between(list(grid), lows, highs, color=colour, alpha=0.15, linewidth=0)
        axes.plot(coverages, risks, color=colour, drawstyle="steps-pre", linewidth=1.4, label=_words(mode))
        axes.plot(coverages[1:], risks[1:], color=colour, marker="o", markersize=3, linestyle="none")
    axes.set(xlabel="coverage (share of all items)", ylabel="risk (mean loss of taken items)", xlim=(0, 1))
    axes.set_ylim(bottom=0)
    _name_parts(axes)


def _error_per_item(report: Report, axes: Axes) -> None:
    """The error of each item and mode, with its interval; modes side by side, so that none hides another."""
    drawn = [experiment for experiment in report.experiments if experiment.results.evaluated_subjects]
    for number, experiment in enumerate(drawn):
        offset, results = 0.36 * (number - (len(drawn) - 1) / 2), experiment.results
        intervals = [results.per_item[item].mae_interval for item in PHQ8Item]
        rows = [row + offset for row in range(len(intervals))]
        _intervals(axes, rows, intervals, color=_COLOUR_OF[results.mode], label=_words(results.mode))
    axes.set_yticks(range(len(PHQ8Item)), [item.value for item in PHQ8Item])
    axes.set_ylim(len(PHQ8Item) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="mean absolute error, with 95 % interval")
    # Slightly below 0, so that a point at 0 is fully visible.
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    _name_parts(axes)


def _calibration(report: Report, axes: Axes) -> None:
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
    _name_parts(axes)


def _ranking(report: RetrievalReport, name: str, axes: Axes) -> None:
    """A measure per ranking, with its interval."""
    rows = list(range(len(report.stages)))
    intervals = [found.measures[name] for found in report.stages]
    axes.barh(rows, [interval.value or 0.0 for interval in intervals], height=0.5, color=FIRST, alpha=0.35)
    _intervals(axes, rows, intervals, color=FIRST)
    axes.set_yticks(rows, [found.stage.value for found in report.stages])
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"mean {name}", xlim=(0, 1), ylim=(max(len(rows), 4) - 0.5, -0.5))


def _intervals(axes: Axes, rows: Sequence[float], intervals: Sequence[Interval], **style: Any) -> None:
    """A point for each value, and a line from end to end of its interval where it has one."""
    for row, one in zip(rows, intervals, strict=True):
        if one.low is not None and one.high is not None:
            axes.hlines(row, one.low, one.high, linewidth=1.2, color=style["color"])
    known = [(one.value, row) for row, one in zip(rows, intervals, strict=True) if one.value is not None]
    axes.plot([value for value, _ in known], [row for _, row in known], "o", markersize=4, **style)


def _name_parts(axes: Axes) -> None:
    """Above the plot, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.4, columnspacing=1.2)


def _words(mode: AssessmentMode) -> str:
    return mode.value.replace("_", "-")
