"""Plots of scored runs and of retrieval, as SVG and PNG."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO, StringIO
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import get_named_colors_mapping
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from schemas.errors import Refused
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.reports import Experiment, Report, RetrievalReport
from schemas.values.runs import StageShare
from schemas.values.scoring import Interval
from stages.metrics.selective import measure_names

# Names of colours, which a page, an SVG file and a PNG each give values to.
INK, GRID, FIRST, SECOND, MUTED = "ragq:ink", "ragq:line", "ragq:first", "ragq:second", "ragq:muted"

#: Placeholders for the colours of the page, replaced when the SVG is written.
_PLACEHOLDERS: Final = {INK: "#010101", GRID: "#020202", FIRST: "#030303", SECOND: "#040404", MUTED: "#050505"}
_VARIABLES: Final = {value: f"var(--{name.partition(':')[2]})" for name, value in _PLACEHOLDERS.items()}
#: A PNG has a white ground.
_LIGHT: Final = {INK: "#1d2330", GRID: "#d5dae2", FIRST: "#2364aa", SECOND: "#bf5413", MUTED: "#5b6475"}
_COLOURS: Final = """\
svg { --ink: #1d2330; --line: #d5dae2; --first: #2364aa; --second: #bf5413; --muted: #5b6475; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e8ef; --line: #333b48; --first: #7ab3f0; --second: #f2a063; --muted: #9aa4b5; }
}
text { font-family: system-ui, sans-serif; }
"""


def _name_colours(values: Mapping[str, str]) -> None:
    # One by one: `update` would leave the colours in Matplotlib's cache that the names had before.
    for name, value in values.items():
        get_named_colors_mapping()[name] = value


_name_colours(_PLACEHOLDERS)

# Narrow enough for legible text on a phone, where a plot is as wide as the screen.
_INCHES = (4.6, 3.1)

_STYLE: Final[Mapping[str, Any]] = {
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


def svg(title: str, draw: Callable[[Axes], None]) -> Markup:
    """The drawing of `draw`, as an element labelled by the title."""
    # Ids are hashes of their content: without its own salt, one plot would use another's clipping.
    with style.context(["default", {**_STYLE, "svg.hashsalt": title}]):
        figure = Figure(figsize=_INCHES, layout="constrained")
        draw(figure.add_subplot())
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(written.getvalue(), title)


def png(draw: Callable[[Axes], None], title: str) -> bytes:
    """The drawing of `draw` as a PNG with its title, for documents that cannot show an SVG."""
    _name_colours(_LIGHT)
    try:
        with style.context(["default", dict(_STYLE)]):
            figure = Figure(figsize=_INCHES, layout="constrained")
            draw(figure.add_subplot())
            figure.suptitle(title, fontsize=9)
            written = BytesIO()
            figure.savefig(written, format="png", dpi=200, facecolor="white", metadata={"Software": None})
    finally:
        _name_colours(_PLACEHOLDERS)
    return written.getvalue()


def as_file(inline: Markup) -> str:
    """The element as a separate file, which includes the colours."""
    head, rest = inline.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{_COLOURS}</style>{rest}'


def whiskers(intervals: Sequence[Interval]) -> list[list[float]]:
    """The distances of the ends below and above the values; a percentile interval need not contain its value."""
    values = [interval.value or 0.0 for interval in intervals]
    lows = [max(0.0, value - _or(found.low, value)) for value, found in zip(values, intervals, strict=True)]
    highs = [max(0.0, _or(found.high, value) - value) for value, found in zip(values, intervals, strict=True)]
    return [lows, highs]


def _or(bound: float | None, value: float) -> float:
    """A value without an interval has no whiskers."""
    return value if bound is None else bound


def _inline(svg: str, title: str) -> Markup:
    """The root element without parts that a page does not need: namespaces, description, sizes, unused ids."""
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", svg))
    for parent in root.iter():
        parent.tag = parent.tag.rpartition("}")[2]
        for child in [child for child in parent if child.tag.endswith("metadata")]:
            parent.remove(child)
        attributes = {name.rpartition("}")[2]: value for name, value in parent.attrib.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        parent.attrib.clear()
        parent.attrib.update(attributes)
    root.attrib.clear()
    width, height = (72 * inches for inches in _INCHES)
    root.attrib.update({"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": title})
    text = ElementTree.tostring(root, encoding="unicode")
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    # Matplotlib wrote it and escaped its content.
    return Markup(text)


_COLOUR_OF: Final[Mapping[AssessmentMode, str]] = {
    AssessmentMode.ZERO_SHOT: FIRST,
    AssessmentMode.FEW_SHOT: SECOND,
}


Draw = Callable[[Report, Axes], None]


def plots_of(report: Report | RetrievalReport) -> Iterator[tuple[str, Markup]]:
    """Each plot that the report has data for: its title, and the SVG."""
    if isinstance(report, RetrievalReport):
        for name in measure_names(report.measures.cutoff) if report.stages else ():
            title = f"{name} per ranking, with 95 % intervals"
            yield title, svg(title, partial(_ranking, report=report, name=name))
    else:
        for title, draw in _plots(report).items():
            yield title, svg(title, partial(draw, report))


def _plots(report: Report) -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    if any(experiment.selective_prediction.chosen.curve for experiment in report.experiments):
        found["Risk over coverage, with its 95 % band"] = _risk_over_coverage
        found["Mean absolute error per item"] = _error_per_item
        found["Coverage per item"] = _coverage_per_item
    if any(experiment.calibration for experiment in report.experiments):
        found["Calibration: how often scores of a confidence are exact"] = _calibration
    if report.failures.total_failures:
        found["Failures by category"] = _failures
    return found


def _risk_over_coverage(report: Report, axes: Axes) -> None:
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
    _name_parts(axes)


def _error_per_item(report: Report, axes: Axes) -> None:
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
    _name_parts(axes)


def _coverage_per_item(report: Report, axes: Axes) -> None:
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


def _failures(report: Report, axes: Axes) -> None:
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


def _name_parts(axes: Axes) -> None:
    """Above the plot, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.4, columnspacing=1.2)


def _words(mode: AssessmentMode) -> str:
    return mode.value.replace("_", "-")


def _ranking(axes: Axes, report: RetrievalReport, name: str) -> None:
    """A measure per ranking, with its interval."""
    stages = [found.stage.value for found in report.stages]
    intervals = [found.measures[name] for found in report.stages]
    values = [interval.value or 0.0 for interval in intervals]
    axes.barh(stages, values, height=0.5, color=FIRST, alpha=0.35)
    axes.errorbar(values, stages, xerr=whiskers(intervals), fmt="o", markersize=4, linewidth=1.2, color=FIRST)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"mean {name}", xlim=(0, 1), ylim=(max(len(stages), 4) - 0.5, -0.5))


KINDS: Final = ("risk", "items", "ranking", "time")


class RunPlot(NamedTuple):
    """A plot of a run."""

    run: str
    kind: str
    title: str
    draw: Callable[[Axes], None]


def plots_of_run(
    run_id: int, report: Report | RetrievalReport | None, shares: Sequence[StageShare], kinds: Sequence[str] = ()
) -> list[RunPlot]:
    """The plots that a run has data for, or those of these kinds; None for a run that has no report.

    Raises Refused when it has none of them.
    """
    wanted = kinds or KINDS
    run = f"r{run_id}"
    found = [] if report is None else _of_report(run, report)
    if shares:
        found.append(
            RunPlot(run, "time", f"{run}: where the time went, summed over jobs", partial(_time, shares=shares))
        )
    found = [plot for plot in found if plot.kind in wanted]
    if not found:
        raise Refused(f"r{run_id} has no data for the plot {' or '.join(wanted)}.")
    return found


def _of_report(run: str, report: Report | RetrievalReport) -> list[RunPlot]:
    if isinstance(report, RetrievalReport):
        name = measure_names(report.measures.cutoff)[0]
        plot = RunPlot(run, "ranking", f"{run}: {name} per ranking", partial(_ranking, report=report, name=name))
        return [plot] if report.stages else []
    if not any(one.selective_prediction.chosen.curve for one in report.experiments):
        return []
    return [
        RunPlot(run, "risk", f"{run}: risk over coverage", partial(_risk_over_coverage, report)),
        RunPlot(run, "items", f"{run}: mean absolute error per item", partial(_error_per_item, report)),
    ]


def _time(axes: Axes, shares: Sequence[StageShare]) -> None:
    names = [one.stage for one in shares]
    begins = [0.0] * len(shares)
    parts: dict[str, tuple[Sequence[float | None], str]] = {
        "waiting": ([one.waiting_s for one in shares], MUTED),
        "language model": ([one.llm_s for one in shares], SECOND),
        "database": ([one.database_s for one in shares], INK),
        "other work": ([one.other_s for one in shares], FIRST),
        "not measured": ([one.unmeasured_s for one in shares], GRID),
    }
    for part, (seconds, colour) in parts.items():
        lengths = [one or 0.0 for one in seconds]
        axes.barh(names, lengths, left=begins, height=0.55, color=colour, label=part)
        begins = [begin + length for begin, length in zip(begins, lengths, strict=True)]
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="seconds, summed over jobs", ylim=(max(len(shares), 4) - 0.5, -0.5))
    _name_parts(axes)
