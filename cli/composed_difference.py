"""How one run differs from another, from the rows of both, and how that is shown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Group

from cli.composed_report import StoredRun, as_run
from cli.drawing import Drawing, FittingTable, Text, figure_table, spaced
from cli.output import draw, print_json
from cli.paper.differences import (
    difference_numbers,
    difference_tables,
    retrieval_difference_numbers,
    retrieval_difference_tables,
)
from cli.paper.options import PaperFormat
from cli.paper.writing import write
from cli.report_options import chosen_measures, retrieval_measures
from cli.retrieval_table import retrieval_difference_table
from schemas.values.differences import Difference
from schemas.values.query_runs import QueryRun
from schemas.values.retrieval_reports import RetrievalDifference
from services.several_runs import compare_queries, compare_scores
from stages.reports.numbers_in_words import NOT_AVAILABLE, bounds, number
from stages.reports.words import origin_words

AnyDifference = Sequence[Difference] | RetrievalDifference


def composed_difference(
    runs: Sequence[StoredRun], mode: str | None, other_mode: str | None, options: Mapping[str, Any]
) -> AnyDifference:
    """The second run against the first."""
    before, after = map(as_run, runs)
    if isinstance(before, QueryRun) and isinstance(after, QueryRun):
        if mode is not None:
            raise click.UsageError("--mode: only for scored runs.")
        return compare_queries(before, after, retrieval_measures(**options))
    return compare_scores(before, after, mode=mode, other_mode=other_mode, measures=chosen_measures(**options))


def print_difference(found: AnyDifference, *, as_json: bool) -> None:
    """Print a difference as JSON, or in tables."""
    if as_json:
        print_json(found if isinstance(found, RetrievalDifference) else list(found))
    elif isinstance(found, RetrievalDifference):
        draw(retrieval_difference_table(found))
    else:
        draw(*map(_difference, found))


def write_difference(found: AnyDifference, wanted: PaperFormat, output: Path | None) -> None:
    """Print a difference for a paper."""
    if isinstance(found, RetrievalDifference):
        tables, numbers = retrieval_difference_tables(found), retrieval_difference_numbers(found)
        write(wanted, tables=tables, numbers=numbers, confidence=None, output=output)
    else:
        of_scores, in_numbers = difference_tables(found), difference_numbers(found)
        write(wanted, tables=of_scores, numbers=in_numbers, confidence=found[0].confidence, output=output)


def _difference(found: Difference) -> Drawing:
    left, right = (f"{side.run_id} {side.mode}" for side in (found.left, found.right))
    parts: list[Drawing] = [
        _head(found, left, right),
        _deltas(found, left, right),
    ]
    if found.settings:
        parts.append(_settings(found, left, right))
    parts += [Text(line) for line in _remarks(found)]
    if found.flips:
        parts.append(_flips(found, left, right))
    return spaced(parts)


def _head(found: Difference, left: str, right: str) -> Drawing:
    lines = [
        Text.assemble((f"{right} - {left}", "bold"), f"  participants scored by both: {found.common_participants}")
    ]
    sides = [found.left] if found.left == found.right else [found.left, found.right]
    for side in sides:
        lines += [Text(f"{side.run_id} {side.mode}: {notice}", style="yellow") for notice in side.notices]
    if found.left.origin != found.right.origin:
        lines += [Text(f"{side.run_id}: {words}", style="dim") for side in sides for words in origin_words(side.origin)]
    return Group(*lines)


def _deltas(found: Difference, left: str, right: str) -> FittingTable:
    table = figure_table("metric", left, right, "delta", "95 %")
    for name, delta in found.deltas.items():
        low, high = delta.delta.low, delta.delta.high
        is_clear = low is not None and high is not None and low * high > 0
        table.add_row(
            name,
            number(delta.left),
            number(delta.right),
            Text(number(delta.delta.value), style="bold" if is_clear else ""),
            bounds(delta.delta),
        )
    return table


def _settings(found: Difference, left: str, right: str) -> FittingTable:
    table = figure_table("setting", left, right)
    for name, setting in found.settings.items():
        table.add_row(name, Text(str(setting.left)), Text(str(setting.right)))
    return table


def _remarks(found: Difference) -> list[str]:
    lists = {
        f"Failed in {found.left.run_id} {found.left.mode} only": found.failed_in_left_only,
        f"Failed in {found.right.run_id} {found.right.mode} only": found.failed_in_right_only,
        f"Only in {found.left.run_id} {found.left.mode}": found.only_in_left,
        f"Only in {found.right.run_id} {found.right.mode}": found.only_in_right,
    }
    remarks = [f"{what}: {', '.join(map(str, ids))}" for what, ids in lists.items() if ids]
    flips = ", ".join(f"{count} {kind}" for kind, count in found.flip_counts.items())
    return [*remarks, f"Items: {flips}."]


def _flips(found: Difference, left: str, right: str) -> FittingTable:
    table = figure_table("participant", "item", left, right, "truth", "error", texts=("item",))
    for flip in found.flips:
        change = "" if flip.error_change is None else f"{flip.error_change:+d}"
        table.add_row(
            str(flip.participant_id), flip.item, _score(flip.left), _score(flip.right), _score(flip.truth), change
        )
    return table


def _score(score: int | None) -> str:
    return NOT_AVAILABLE if score is None else str(score)
