"""The plots of a run by name, and the numbers that they show. `services/plots/of_run.py` draws them."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from matplotlib.axes import Axes

from schemas.errors import Refused
from schemas.values.differences import ComparedRun, SeveralRuns, Sweep
from schemas.values.measures import RetrievalMeasures
from schemas.values.phq8 import PHQ8Item
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.runs import StageShare
from schemas.values.scored_runs import ScoredRun
from services.plots.retrieval import draw_measure
from services.plots.scored import draw_error_per_item, draw_risk_over_coverage
from services.plots.svg import FIRST, GRID, INK, MUTED, SECOND, as_file, svg, whiskers
from stages.metrics.retrieval import measure_names
from stages.reports.report import build_report, measures_of
from stages.reports.retrieval import build_retrieval_report
from stages.reports.several_runs import default_measure

KINDS: Final = ("risk", "items", "ranking", "time")

TIMES: Final = ("waiting", "language model", "database", "other work", "not measured")
"""The parts of a bar of `time`."""


class Bar(NamedTuple):
    """A line of a bar plot in a terminal."""

    name: str
    parts: tuple[float | None, ...]
    """Lengths, one after another; None for one that is not known."""


class RunPlot(NamedTuple):
    """A plot of a run."""

    run: str
    kind: str
    title: str
    report: Report | RetrievalReport | None
    """What it shows a part of; None for `time`, whose bars are all that it shows."""
    bars: tuple[Bar, ...]
    """Its numbers for a terminal; of a curve, a bar per point."""
    legend: tuple[str, ...]
    """What the parts of a bar are."""
    unit: str


def plots_of_run(
    run_id: int, reported: ScoredRun | QueryRun | None, shares: Sequence[StageShare], kinds: Sequence[str] = ()
) -> list[RunPlot]:
    """The plots that a run has data for, or those of these kinds; None for a run that has no report.

    Raises Refused when it has none of them.
    """
    wanted = kinds or KINDS
    found = [] if reported is None else _of_report(_report(reported))
    if shares:
        found.append(_time(f"r{run_id}", shares))
    found = [plot for plot in found if plot.kind in wanted]
    if not found:
        raise Refused(f"r{run_id} has no data for the plot {' or '.join(wanted)}.")
    return found


def _report(run: ScoredRun | QueryRun) -> Report | RetrievalReport:
    if isinstance(run, QueryRun):
        return build_retrieval_report(run, measures=RetrievalMeasures())
    return build_report(run, measures=measures_of(run.settings, {}))


def _of_report(report: Report | RetrievalReport) -> list[RunPlot]:
    run = report.run_metadata.run_id
    if isinstance(report, RetrievalReport):
        name = measure_names(report.measures.cutoff)[0]
        bars = tuple(Bar(found.stage.value, (found.measures[name].value or 0.0,)) for found in report.stages)
        return [RunPlot(run, "ranking", f"{run}: {name} per ranking", report, bars, (name,), "")] if bars else []
    curves = [one for one in report.experiments if one.selective_prediction.chosen.curve]
    if not curves:
        return []
    risk = tuple(
        Bar(f"{one.results.mode.value} {point.coverage:.2f}", (point.selective_risk,))
        for one in curves
        for point in one.selective_prediction.chosen.curve
    )
    items = tuple(
        Bar(f"{one.results.mode.value} {item.value}", (one.results.per_item[item].mae_interval.value or 0.0,))
        for one in curves
        for item in PHQ8Item
        if one.results.per_item[item].mae_interval.value is not None
    )
    return [
        RunPlot(run, "risk", f"{run}: risk over coverage", report, risk, ("risk at this coverage",), ""),
        RunPlot(run, "items", f"{run}: mean absolute error per item", report, items, ("mean absolute error",), ""),
    ]


def _time(run: str, shares: Sequence[StageShare]) -> RunPlot:
    bars = tuple(
        Bar(one.stage, (one.waiting_s, one.llm_s, one.database_s, one.other_s, one.unmeasured_s)) for one in shares
    )
    return RunPlot(run, "time", f"{run}: where the time went, summed over jobs", None, bars, TIMES, " s")


_COLOURS: Final = (MUTED, SECOND, INK, FIRST, GRID)
"""Of TIMES."""


def draw_run_plot(axes: Axes, plot: RunPlot) -> None:
    """Draw what a plot shows of its run."""
    match plot.report:
        case Report() if plot.kind == "risk":
            draw_risk_over_coverage(axes, plot.report)
        case Report():
            draw_error_per_item(axes, plot.report)
        case RetrievalReport():
            name, stages = measure_names(plot.report.measures.cutoff)[0], plot.report.stages
            intervals = [found.measures[name] for found in stages]
            draw_measure(axes, stages=[found.stage.value for found in stages], intervals=intervals, name=name)
        case None:
            _draw_time(axes, plot.bars)


def _draw_time(axes: Axes, bars: Sequence[Bar]) -> None:
    names = [bar.name for bar in bars]
    begins = [0.0] * len(bars)
    for number, (part, colour) in enumerate(zip(TIMES, _COLOURS, strict=True)):
        lengths = [bar.parts[number] or 0.0 for bar in bars]
        axes.barh(names, lengths, left=begins, height=0.55, color=colour, label=part)
        begins = [begin + length for begin, length in zip(begins, lengths, strict=True)]
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="seconds, summed over jobs", ylim=(max(len(bars), 4) - 0.5, -0.5))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.4, columnspacing=1.2)


def sweep_plot(found: Sweep, measure: str | None = None) -> str:
    """An SVG file of the first mode: the difference of each point with its 95 % and its corrected interval."""
    result = found.results[0]
    name = measure or default_measure(result)
    title = f"{name}: points compared with {found.parent}"
    return as_file(svg(title, partial(_draw, result=result, name=name)))


def _draw(axes: Axes, *, result: SeveralRuns, name: str) -> None:
    runs = [run for run in result.compared if run.measures[name].delta.value is not None]
    places = list(range(len(runs)))
    plain = [run.measures[name].delta for run in runs]
    corrected = [run.measures[name].corrected for run in runs]
    values = [interval.value or 0.0 for interval in plain]
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.errorbar(values, places, xerr=whiskers(corrected), fmt="none", linewidth=0.8, color=MUTED, label="corrected")
    axes.errorbar(values, places, xerr=whiskers(plain), fmt="o", markersize=4, linewidth=2, color=FIRST, label="95 %")
    axes.set_yticks(places, [_label(run) for run in runs])
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"difference in {name}", ylim=(max(len(runs), 3) - 0.5, -0.5))
    axes.legend(loc="best")


def _label(run: ComparedRun) -> str:
    return f"{run.run_id} " + " ".join(str(value) for value in run.settings.values())
