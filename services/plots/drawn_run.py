"""Draws the plots of a run."""

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes

from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from services.plots.of_run import TIMES, Bar, RunPlot
from services.plots.retrieval import draw_measure
from services.plots.scored import draw_error_per_item, draw_risk_over_coverage
from services.plots.svg import FIRST, GRID, INK, MUTED, SECOND
from stages.metrics.retrieval import measure_names

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
