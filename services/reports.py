"""The report of a run: its numbers, its tables, and a page that asks nobody for anything; what a run cost; and runs
compared with the first of them, alike by commands, REST and pages."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from schemas.errors import Refused
from schemas.values.costs import Prices, RunCost
from schemas.values.differences import Comparison, Measures
from schemas.values.evaluations import EvaluationReport
from schemas.values.participants import AssessmentMode
from schemas.values.queries import QueryRun
from schemas.values.reports import Report, RetrievalReport
from schemas.values.runs import ScoredRun, run_number
from stages.reports.calibration import DEFAULT, is_calibrated
from stages.reports.comparison import compare_queries, compare_scores
from stages.reports.costs import run_cost
from stages.reports.evaluation import evaluation_sheet
from stages.reports.report import build_report, measures_of, report_sheet, retrieval_measures_of
from stages.reports.retrieval import build_retrieval_report, retrieval_sheet
from stages.reports.tables import Sheet
from store.database import Connection, Database
from store.runs import call_costs, runs
from store.views import reported_run


def report_of(
    run: ScoredRun | QueryRun,
    chosen: Mapping[str, Any] | None = None,
    *,
    calibrate_on: ScoredRun | QueryRun | None = None,
    prices: Prices | None = None,
) -> Report | RetrievalReport:
    """The report of a run with the chosen measures; the others are those of the run, or the default ones. Raises
    Refused for measures of another kind of run, and for what cannot be calibrated."""
    if isinstance(run, QueryRun) or isinstance(calibrate_on, QueryRun):
        if calibrate_on is not None:
            raise Refused("A run of queries has no confidence, so nothing is calibrated in it or on it.")
        assert isinstance(run, QueryRun)
        return build_retrieval_report(run, measures=retrieval_measures_of(chosen or {}), prices=prices)
    measures = measures_of(run.settings, chosen or {})
    if calibrate_on is not None and not is_calibrated(measures.confidence):
        if measures.confidence != Measures().confidence:
            raise Refused(
                "--calibrate-on goes with a calibrated confidence: --confidence "
                f"calibrated:isotonic:{measures.confidence}"
            )
        measures = measures.model_copy(update={"confidence": DEFAULT})
    return build_report(run, measures=measures, calibrate_on=calibrate_on, prices=prices)


def sheet_of(report: Report | RetrievalReport | EvaluationReport) -> Sheet:
    """The tables of a report, and what has to be known about them."""
    match report:
        case Report():
            return report_sheet(report)
        case RetrievalReport():
            return retrieval_sheet(report)
        case EvaluationReport():
            return evaluation_sheet(report)


def report_page(report: Report | RetrievalReport) -> str:
    """A report as one page with styles and plots. Of queries it has numbers, names and ids, and no word of theirs.
    Every text of it is escaped; the same values give the same bytes."""
    # Drawing loads Matplotlib, which takes a second.
    from services.plots import plots_of

    environment = Environment(
        loader=PackageLoader("services", "report_html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(sheet=sheet_of(report), plots=plots_of(report))


def write_plots(report: Report | RetrievalReport, folder: Path) -> Iterator[Path]:
    """Write each plot of a report to a folder, as SVG and as PNG."""
    from services.plots import plots_of

    folder.mkdir(parents=True, exist_ok=True)
    for plot in plots_of(report):
        for ending in ("svg", "png"):
            file = folder / f"{report.run_metadata.run_id}-{plot.kind}.{ending}"
            file.write_bytes(plot.as_file(ending))
            yield file


async def cost_of_run(
    connection: Connection, run_id: int, prices: Prices | None = None, *, by_job: bool = False
) -> RunCost:
    """The cost of a run up to now, on request of each of its jobs too."""
    return run_cost(*await call_costs.of_run(connection, run_id, by_job=by_job), prices)


MOST = 50
"""Runs of one comparison."""


async def compare(
    database: Database,
    run_ids: Sequence[int],
    *,
    mode: str | None = None,
    other_mode: str | None = None,
    measures: Mapping[str, Any] | None = None,
) -> list[Comparison]:
    """Runs of one kind compared with the first: of participants one comparison per mode that all have, or in `mode`,
    with `other_mode` of the others.

    `measures` are those that were chosen; the runs have the others. Raises MissingError, and Refused
    for fewer than two runs, for runs of several kinds, and for what does not go with the kind.
    """
    if not 2 <= len(run_ids) <= MOST:
        raise Refused(f"A comparison takes 2 to {MOST} runs.")
    async with database.connection() as connection:
        found = [await reported_run(connection, run_id) for run_id in run_ids]
    return await asyncio.to_thread(compared, found, mode=mode, other_mode=other_mode, measures=measures or {})


def refuse_other_data_sets(runs: Sequence[ScoredRun]) -> None:
    """Raise Refused for runs of several data sets: participants of one number are other people there."""
    named = {run.request["data_set"]: f"r{run.run_id}" for run in runs if run.request.get("data_set")}
    if len(named) > 1:
        whose = ", ".join(f"{run} of '{data_set}'" for data_set, run in named.items())
        raise Refused(f"The runs are of several data sets, which have no participant in common: {whose}.")


async def named_runs(connection: Connection, words: Sequence[str]) -> list[int]:
    """The numbers of runs by number or name. Raises Refused for words that stand for none."""
    found = []
    for one in words:
        run_id = run_number(one) or await runs.by_words(connection, one)
        if run_id is None:
            raise Refused("One of them is neither the number nor the name of a run; the list of runs shows both.")
        found.append(run_id)
    return found


def compared(
    found: Sequence[ScoredRun | QueryRun],
    *,
    mode: str | None = None,
    other_mode: str | None = None,
    measures: Mapping[str, Any],
) -> list[Comparison]:
    """Runs that were read, compared with the first of them as `compare` does."""
    scored = [run for run in found if isinstance(run, ScoredRun)]
    asked = [run for run in found if isinstance(run, QueryRun)]
    if len(scored) == len(found):
        refuse_other_data_sets(scored)
        sides = _sides(scored, mode, other_mode)
        return [compare_scores(one, chosen=measures) for one in sides]
    if mode is not None or other_mode is not None:
        raise Refused("A mode goes with runs of participants.")
    if len(asked) == len(found):
        return [compare_queries(asked, measures=retrieval_measures_of(measures))]
    raise Refused("The runs are of several kinds; runs of one kind are compared.")


Side = tuple[ScoredRun, AssessmentMode]


def _sides(runs: Sequence[ScoredRun], mode: str | None, other_mode: str | None) -> list[list[Side]]:
    first, *others = runs
    if other_mode is not None and mode is None:
        raise Refused("Choose the mode of the first run too.")
    if mode is not None:
        return [[_in_mode(first, mode), *(_in_mode(run, other_mode or mode) for run in others)]]
    common = [one for one in first.modes if all(one in run.modes for run in others)]
    if not common:
        has = ", ".join(f"r{run.run_id} has {' and '.join(run.modes)}" for run in runs)
        raise Refused(f"{has}; choose a mode of each: --mode and --other-mode, or in the form.")
    return [[(run, one) for run in runs] for one in common]


def _in_mode(run: ScoredRun, mode: str) -> Side:
    if mode not in run.modes:
        has = " and ".join(run.modes)
        raise Refused(f"Run r{run.run_id} has no jobs in mode {mode}; it has {has}.")
    return run, AssessmentMode(mode)
