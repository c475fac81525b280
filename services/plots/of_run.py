"""The plots of a run by name, and the numbers that they show. `services/plots/drawn_run.py` draws them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.values.measures import RetrievalMeasures
from schemas.values.phq8 import PHQ8Item
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.scored_runs import ScoredRun
from schemas.values.stage_shares import StageShare
from stages.metrics.retrieval import measure_names
from stages.reports.measures import measures_of
from stages.reports.report import build_report
from stages.reports.retrieval import build_retrieval_report

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
