"""`ragq diff`: one run against another of its kind."""

from pathlib import Path
from typing import Any

import click

from cli.choices import Choice
from cli.drawing import Drawing, FittingTable, Group, Text, figure_table, spaced
from cli.ids import RUN
from cli.output import draw, print_json
from cli.paper.differences import (
    difference_numbers,
    difference_tables,
    retrieval_difference_numbers,
    retrieval_difference_tables,
)
from cli.paper.options import paper_format, paper_options, write
from cli.report_options import chosen_measures, given_measures, measure_options, retrieval_measures
from cli.retrieval_table import retrieval_difference_table
from cli.session import with_database
from cli.several_table import metric_option, print_several
from schemas.values.differences import Difference
from schemas.values.phq8 import AssessmentMode
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from services.comparisons import compare_queries, compare_scores
from services.several_runs import is_of_phrases
from stages.reports.numbers_in_words import NOT_AVAILABLE, bounds, number
from stages.reports.origin_words import origin_words
from store.database import Connection
from store.views.reported_runs import reported_run

_MODES = Choice([mode.value for mode in AssessmentMode])


@click.command()
@click.argument("left", metavar="A", type=RUN)
@click.argument("right", metavar="B", type=RUN)
@click.argument("more", metavar="[C...]", type=RUN, nargs=-1)
@click.option("--mode", type=_MODES, help="Mode to compare.  [default: each that both runs have]")
@click.option("--other-mode", type=_MODES, help="Mode of B, when it is another than that of A.")
@measure_options
@metric_option
@paper_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON array, one object per mode; of two runs of queries one object.",
)
def diff(
    left: int,
    right: int,
    more: tuple[int, ...],
    mode: str | None,
    other_mode: str | None,
    metrics: tuple[str, ...],
    latex: bool,
    markdown: bool,
    csv: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Two scored runs are compared on the participants that both scored, two runs of queries on the queries that both
    have. Also shows the items or queries that changed, the settings that differ, and who failed in one of them only.
    Three runs and more, and runs of phrases, are shown in one table, with intervals that are corrected for the number
    of comparisons (Bonferroni) beside the others.

    \b
    Example:
        ragq diff r12 r15
        ragq diff r12 r12 --mode zero_shot --other-mode few_shot
        ragq diff r20 r21 --cutoff 5
        ragq diff r12 r13 r14 r15 --metric item_mae_weighted --csv > compared.csv
    """
    if other_mode is not None and mode is None:
        raise click.UsageError("--other-mode goes with --mode, which names the mode of A.")

    is_tags = with_database(lambda connection: is_of_phrases(connection, left))
    if more or is_tags:
        if other_mode is not None or latex or markdown:
            raise click.UsageError("--other-mode, --latex and --markdown go with two runs of participants or queries.")
        print_several(
            [left, right, *more],
            mode=mode,
            measures=given_measures(**options),
            metrics=metrics,
            csv=csv,
            output=output,
            as_json=as_json,
        )
        return
    if metrics:
        raise click.UsageError("--metric: only for three runs and more, and runs of phrases.")
    wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)

    async def both(connection: Connection) -> tuple[ScoredRun | QueryRun, ScoredRun | QueryRun]:
        return await reported_run(connection, left), await reported_run(connection, right)

    before, after = with_database(both)
    if isinstance(before, QueryRun) and isinstance(after, QueryRun):
        if mode is not None:
            raise click.UsageError("--mode: only for scored runs.")
        change = compare_queries(before, after, retrieval_measures(**options))
        if wanted is not None:
            tables, numbers = retrieval_difference_tables(change), retrieval_difference_numbers(change)
            write(wanted, tables=tables, numbers=numbers, confidence=None, output=output)
        elif as_json:
            print_json(change.model_dump(mode="json"))
        else:
            draw(retrieval_difference_table(change))
        return
    found = compare_scores(before, after, mode=mode, other_mode=other_mode, measures=chosen_measures(**options))
    if wanted is not None:
        tables, numbers = difference_tables(found), difference_numbers(found)
        write(wanted, tables=tables, numbers=numbers, confidence=found[0].confidence, output=output)
    elif as_json:
        print_json([one.model_dump(mode="json") for one in found])
    else:
        draw(Group(*(_difference(one) for one in found)))


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
