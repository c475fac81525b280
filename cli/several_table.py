"""Several runs compared with one, from the rows of each: as tables, JSON and CSV."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group

from cli.output import Drawing, Text, draw, figure_table, print_data, print_json, spaced
from cli.report import StoredRun, as_run
from schemas.errors import Refused
from schemas.values.differences import ComparedMeasure, Movement, SeveralRuns
from services.several_runs import compared
from stages.reports.numbers_in_words import NOT_AVAILABLE, bounds, counted, number
from stages.reports.several_runs import TagsRun, several_csv, shown_measures
from stages.texts.characters import listed

#: Movements in the terminal; --json and --csv of the page have all.
_LISTED = 20


def compared_runs(runs: Sequence[StoredRun], mode: str | None, measures: Mapping[str, Any]) -> list[SeveralRuns]:
    """Several runs compared with the first."""
    found = [run if isinstance(run, TagsRun) else as_run(run) for run in runs]
    return compared(found, mode=mode, measures=measures)


def print_several(
    found: Sequence[SeveralRuns], metrics: Sequence[str], *, csv: bool, output: Path | None, as_json: bool
) -> None:
    """Print the comparison as JSON, as CSV, to a file too, or in tables."""
    if as_json:
        print_json(found)
    elif not csv:
        draw(*(several_table(one, metrics) for one in found))
    elif output is None:
        print_data(several_csv(found))
    else:
        output.write_text(several_csv(found), encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)


def several_table(found: SeveralRuns, metrics: Sequence[str] = ()) -> Drawing:
    """Settings that differ, the measures of each run beside the baseline's, and what moved."""
    known = list(found.compared[0].measures) if found.compared else []
    if unknown := [name for name in metrics if name not in known]:
        raise Refused(f"There is no measure '{unknown[0]}' of these runs. There are: {', '.join(known)}.")
    parts: list[Drawing] = [_head(found)]
    if found.settings:
        settings = figure_table("setting", *found.runs)
        for name, values in found.settings.items():
            settings.add_row(name, *(Text("" if value is None else str(value)) for value in values))
        parts.append(settings)
    parts += [_measure(found, name) for name in metrics or shown_measures(found)]
    if found.movements:
        parts.append(_movements(found))
    return spaced(parts)


def _head(found: SeveralRuns) -> Drawing:
    mode = f" {found.mode}" if found.mode else ""
    split = f", participants of split '{found.subjects_of}'" if found.subjects_of else ""
    lines = [Text(f"{', '.join(found.runs[1:])} compared with {found.runs[0]}{mode}{split}", style="bold")]
    lines += [Text(f"{found.runs[0]}: {notice}", style="yellow") for notice in found.baseline_notices]
    failed = [f"{run.run_id} {counted(run.failed, 'job')}" for run in found.compared if run.failed]
    if failed:
        lines.append(Text(f"Not succeeded: {', '.join(failed)}.", style="yellow"))
    lines.append(
        Text(f"corrected: intervals that hold together for {counted(found.comparisons, 'comparison')}", style="dim")
    )
    return Group(*lines)


def _measure(found: SeveralRuns, name: str) -> Drawing:
    table = figure_table(name, "settings", "value", "delta", "95 %", "corrected", "n", texts=("settings",))
    baseline = next((run.measures[name].baseline for run in found.compared), None)
    table.add_row(found.runs[0], "", number(baseline), "", "", "", "")
    for run in found.compared:
        measure = run.measures[name]
        settings = ", ".join(f"{key}={value}" for key, value in run.settings.items())
        table.add_row(
            run.run_id,
            Text(settings),
            number(measure.value),
            Text(number(measure.delta.value), style="bold" if _is_clear(measure) else ""),
            bounds(measure.delta),
            bounds(measure.corrected),
            str(measure.subjects),
        )
    return table


def _is_clear(measure: ComparedMeasure) -> bool:
    low, high = measure.corrected.low, measure.corrected.high
    return low is not None and high is not None and low * high > 0


def _movements(found: SeveralRuns) -> Drawing:
    table = figure_table("subject", "item", "truth", *found.runs, texts=("item",))
    for move in found.movements[:_LISTED]:
        truth = "" if move.truth is None else str(move.truth)
        table.add_row(move.subject, move.item or "", truth, *_cells(move))
    more = len(found.movements) - _LISTED
    rest = [Text(f"and {more} more; --json has all of them", style="dim")] if more > 0 else []
    return Group(Text(f"What moved: {found.measured}"), table, *rest)


def _cells(move: Movement) -> list[Text]:
    if move.changes:
        return [
            Text(change or (NOT_AVAILABLE if value is None else f"{value:g}"))
            for change, value in zip(move.changes, move.values, strict=True)
        ]
    return [Text(NOT_AVAILABLE if value is None else f"{value:.3g}") for value in move.values]


def points_in_words(points: Mapping[str, str]) -> str:
    """The values of a point: `A=1, B=2`."""
    return listed([f"{name}={value}" for name, value in points.items()])
