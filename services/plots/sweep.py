"""The plot of a sweep: what each point changes in one measure."""

from functools import partial

from matplotlib.axes import Axes

from schemas.values.several_runs import ComparedRun, SeveralRuns, Sweep
from services.plots.svg import FIRST, INK, MUTED, as_file, svg, whiskers
from stages.reports.several_runs import default_measure


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
