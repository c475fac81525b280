"""The plots of a run by name: drawn as files, and as numbers for a terminal."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from matplotlib.axes import Axes

from schemas.errors import Refused
from schemas.values.measures import RetrievalMeasures
from schemas.values.phq8 import PHQ8Item
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.stage_shares import StageShare
from services.plots.retrieval import draw_measure
from services.plots.scored import draw_error_per_item, draw_risk_over_coverage
from services.plots.svg import FIRST, GRID, INK, MUTED, SECOND
from stages.metrics.retrieval import measure_names
from stages.reports.measures import measures_of
from stages.reports.report import build_report
from stages.reports.retrieval import build_retrieval_report
from store.database import Connection
from store.runs import overviews
from store.runs.stage_shares import stage_shares
from store.views.reported_runs import reported_run

KINDS: Final = ("risk", "items", "ranking", "time")


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
    draw: Callable[[Axes], None]
    bars: tuple[Bar, ...]
    """The same numbers; of a curve, a bar per point."""
    legend: tuple[str, ...]
    """What the parts of a bar are."""
    unit: str


async def plots_of_run(connection: Connection, run_id: int, kinds: Sequence[str] = ()) -> list[RunPlot]:
    """The plots that a run has data for, or those of these kinds. Raises Refused when it has none of them."""
    wanted = kinds or KINDS
    found: list[RunPlot] = []
    if set(wanted) - {"time"}:
        overview = await overviews.overview(connection, run_id)
        if overview is None or overview.kind in ("participant", "query"):
            found += _of_report(await _report(connection, run_id))
    if "time" in wanted and (shares := await stage_shares(connection, run_id)):
        found.append(_time(f"r{run_id}", shares))
    found = [plot for plot in found if plot.kind in wanted]
    if not found:
        raise Refused(f"r{run_id} has no data for the plot {' or '.join(wanted)}.")
    return found


async def _report(connection: Connection, run_id: int) -> Report | RetrievalReport:
    run = await reported_run(connection, run_id)
    if isinstance(run, QueryRun):
        return build_retrieval_report(run, measures=RetrievalMeasures())
    return build_report(run, measures=measures_of(run.settings, {}))


def _of_report(report: Report | RetrievalReport) -> list[RunPlot]:
    run = report.run_metadata.run_id
    if isinstance(report, RetrievalReport):
        name = measure_names(report.measures.cutoff)[0]
        stages = {found.stage.value: found.measures[name] for found in report.stages}
        bars = tuple(Bar(stage, (interval.value or 0.0,)) for stage, interval in stages.items())
        draw = partial(draw_measure, stages=list(stages), intervals=list(stages.values()), name=name)
        return [RunPlot(run, "ranking", f"{run}: {name} per ranking", draw, bars, (name,), "")] if bars else []
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
        RunPlot(
            run,
            "risk",
            f"{run}: risk over coverage",
            partial(draw_risk_over_coverage, report=report),
            risk,
            ("risk at this coverage",),
            "",
        ),
        RunPlot(
            run,
            "items",
            f"{run}: mean absolute error per item",
            partial(draw_error_per_item, report=report),
            items,
            ("mean absolute error",),
            "",
        ),
    ]


_PARTS: Final[Mapping[str, str]] = {
    "waiting": MUTED,
    "language model": SECOND,
    "database": INK,
    "other work": FIRST,
    "not measured": GRID,
}


def _time(run: str, shares: Sequence[StageShare]) -> RunPlot:
    bars = tuple(
        Bar(one.stage, (one.waiting_s, one.llm_s, one.database_s, one.other_s, one.unmeasured_s)) for one in shares
    )
    title = f"{run}: where the time went, summed over jobs"
    return RunPlot(run, "time", title, partial(_draw_time, bars=bars), bars, tuple(_PARTS), " s")


def _draw_time(axes: Axes, bars: Sequence[Bar]) -> None:
    names = [bar.name for bar in bars]
    begins = [0.0] * len(bars)
    for number, (part, colour) in enumerate(_PARTS.items()):
        lengths = [bar.parts[number] or 0.0 for bar in bars]
        axes.barh(names, lengths, left=begins, height=0.55, color=colour, label=part)
        begins = [begin + length for begin, length in zip(begins, lengths, strict=True)]
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="seconds, summed over jobs", ylim=(max(len(bars), 4) - 0.5, -0.5))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.4, columnspacing=1.2)
