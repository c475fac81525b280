"""`ragq sweep`: forks of a run at every point of a grid, compared with it."""

import click

from cli.config import with_open_database
from cli.fork import from_option
from cli.ids import RUN
from cli.main import INTERRUPTED
from cli.options import Typed
from cli.output import json_option, print_json, print_text
from cli.report import metric_option
from cli.sheets import draw_sheets
from schemas.values.differences import Sweep
from services.comparisons import grid_points, run_sweep, sweep_results
from stages.reports.comparison_sheet import comparison_sheet
from stages.reports.words import number
from stages.texts.characters import listed


def _grid_values(value: str) -> tuple[str, tuple[str, ...]]:
    name, equals, text = value.partition("=")
    values = tuple(part.strip() for part in text.split(","))
    if not (name and equals and all(values)):
        example = "EMBEDDING_MIN_REFERENCE_SIMILARITY=0.5,0.6"
        raise ValueError(f"{value!r} is not of the form NAME=VALUE,VALUE, such as {example}.")
    return name, values


@click.command()
@click.argument("parent", metavar="RUN", type=RUN)
@from_option
@click.option(
    "--grid",
    type=Typed("NAME=V1,V2", _grid_values),
    multiple=True,
    required=True,
    help="Values of one setting; every combination is a point.",
)
@metric_option
@json_option
def sweep(
    parent: int,
    stage: str,
    grid: tuple[tuple[str, tuple[str, ...]], ...],
    metrics: tuple[str, ...],
    as_json: bool,
) -> None:
    """Fork a run at every point of a grid, wait for the forks, and compare them with the run in one table.

    Differences are paired by subject and have two intervals: 95 %, and corrected for the number of points (Bonferroni).
    The best point by the first measure is printed with what it does not prove. Forks copy what the stages before
    --from stored. The same sweep again continues: forks that are stored are taken, failed jobs are retried.

    Ctrl-C stops waiting, and the forks that are stored continue. Exit code 130 then.

    \b
    Example:
        ragq sweep r12 --from rerank --grid EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6
        ragq sweep r12 --from rerank --grid RAGQ_RERANKER_BATCH_SIZE=4,8
        ragq sweep r20 --from retrieve --grid retrieval.dense_weight=0.3,0.5,0.7 --metric ndcg@10
    """
    points = grid_points(dict(grid))
    try:
        made = with_open_database(run_sweep, parent, stage, points)
    except KeyboardInterrupt:
        print_text("\nStopped waiting; the forks that are stored continue. The same command continues.", err=True)
        raise SystemExit(INTERRUPTED) from None
    found = with_open_database(
        sweep_results,
        parent,
        stage,
        made,
        measure=metrics[0] if metrics else None,
    )
    if as_json:
        print_json(found)
        return
    draw_sheets(comparison_sheet(one, metrics) for one in found.results)
    _print_best(found)


def _print_best(found: Sweep) -> None:
    for result, best in zip(found.results, found.best, strict=False):
        mode = f" {result.mode}" if result.mode else ""
        also = f", as {listed(best.as_good)}" if best.as_good else ""
        if best.is_better:
            point = listed([f"{name}={value}" for name, value in found.points[best.run_id].items()])
            baseline = f"{found.parent} has {number(best.baseline)}"
            words = f"{best.run_id} ({point}), {number(best.value)}{also}; {baseline}"
        else:
            words = f"{found.parent} itself, {number(best.value)}{also}; no point is better"
        print_text(f"Best{mode} by {best.measure}: {words}.")
    print_text(found.warning, err=True)
