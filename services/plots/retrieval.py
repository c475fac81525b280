"""The plots of a report of a run of queries."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.axes import Axes

from schemas.values.metrics import Interval
from schemas.values.retrieval_reports import RetrievalReport
from services.plots.svg import FIRST, svg, whiskers
from stages.metrics.retrieval import measure_names


def retrieval_plots(report: RetrievalReport) -> Iterator[tuple[str, Markup]]:
    """One plot per measure, a row per ranking: its title, and the SVG."""
    if report.stages:
        stages = [found.stage.value for found in report.stages]
        for name in measure_names(report.measures.cutoff):
            title = f"{name} per ranking, with 95 % intervals"
            intervals = [found.measures[name] for found in report.stages]
            yield title, svg(title, partial(draw_measure, stages=stages, intervals=intervals, name=name))


def draw_measure(axes: Axes, *, stages: Sequence[str], intervals: Sequence[Interval], name: str) -> None:
    """A measure per ranking, with its interval."""
    values = [interval.value or 0.0 for interval in intervals]
    axes.barh(stages, values, height=0.5, color=FIRST, alpha=0.35)
    axes.errorbar(values, stages, xerr=whiskers(intervals), fmt="o", markersize=4, linewidth=1.2, color=FIRST)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"mean {name}", xlim=(0, 1), ylim=(max(len(stages), 4) - 0.5, -0.5))
