"""`ragq sweep`: forks of a run at every point of a grid, compared with it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from cli.config import with_open_database
from cli.estimate import MISSING, dry_run_option
from cli.files import read_file
from cli.ids import TARGET
from cli.options import chosen_prices, prices_option, refuse_prices
from cli.output import Text, draw, figure_table, json_option, print_json, print_text
from cli.report import metric_option
from cli.several_table import points_in_words, several_table
from schemas.errors import Refused
from schemas.values.differences import Sweep
from schemas.values.runs import Target
from services.several_runs import PointEstimate, SweepPoint, estimate_sweep, grid_points, run_sweep, sweep_results
from stages.reports.numbers_in_words import duration, number
from stages.texts.characters import listed

#: Ctrl-C ended the sweep: what a shell reports for SIGINT.
INTERRUPTED = 130


class GridValues(click.ParamType[tuple[str, tuple[str, ...]]]):
    """A text of the form NAME=VALUE,VALUE, as a pair."""

    name = "NAME=V1,V2"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name and its values."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        values = tuple(part.strip() for part in text.split(","))
        if not (name and equals and all(values)):
            example = "EMBEDDING_MIN_REFERENCE_SIMILARITY=0.5,0.6"
            self.fail(f"{value!r} is not of the form NAME=VALUE,VALUE, such as {example}.", param, ctx)
        return name, values


class SweepFile(NamedTuple):
    """A sweep in a TOML file."""

    stage: str | None
    grid: dict[str, tuple[str, ...]]


@click.command()
@click.argument("target", metavar="RUN", type=TARGET)
@click.option("--from", "stage", metavar="STAGE", help="The first stage that the forks compute themselves.")
@click.option("--grid", type=GridValues(), multiple=True, help="Values of one setting; every combination is a point.")
@click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with `from` and a table `grid` of lists; the command line wins over it.",
)
@click.option("--random", "sample", type=click.IntRange(min=1), help="This many points of the grid, at random.")
@click.option("--seed", type=int, default=42, show_default=True, help="The same seed takes the same points.")
@click.option("--at-once", type=click.IntRange(min=1), default=4, show_default=True, help="Forks unfinished at a time.")
@metric_option
@click.option("--mode", type=click.Choice(["zero_shot", "few_shot"]), help="Compare in this mode alone.")
@click.option("--select-on", metavar="SPLIT", help="Choose the best point on the participants of this split alone.")
@click.option("--report-on", metavar="SPLIT", help="Report on the participants of this split alone.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a plot of the first measure to this SVG file.",
)
@dry_run_option
@prices_option
@json_option
def sweep(
    target: Target,
    stage: str | None,
    grid: tuple[tuple[str, tuple[str, ...]], ...],
    path: Path | None,
    sample: int | None,
    seed: int,
    at_once: int,
    metrics: tuple[str, ...],
    mode: str | None,
    select_on: str | None,
    report_on: str | None,
    plot: Path | None,
    dry_run: bool,
    price_file: Path | None,
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
        ragq sweep r12 --from rerank --grid RAGQ_RERANKER_BATCH_SIZE=4,8 --select-on paper-val --report-on paper-test
        ragq sweep r20 --from retrieve --grid retrieval.dense_weight=0.3,0.5,0.7 --metric ndcg@10 --plot sweep.svg
        ragq sweep r12 --from rerank --grid EMBEDDING_MIN_REFERENCE_SIMILARITY=0.5,0.6 --dry-run
        ragq sweep r12 --file sweep.toml --random 10 --json
    """
    in_file = SweepFile(None, {}) if path is None else _read(path)
    stage = stage or in_file.stage
    if stage is None:
        raise click.UsageError("Name the first stage that is computed with --from, or with `from` in the file.")
    if target.run_id is None:
        raise click.UsageError("A sweep takes a run; `ragq fork` takes a job.")
    if (select_on is None) != (report_on is None):
        raise click.UsageError("--select-on and --report-on go together.")
    points = grid_points(in_file.grid | dict(grid), sample=sample, seed=seed)
    first, parent = stage, target.run_id
    if dry_run:
        prices = chosen_prices(price_file)
        _print_estimates(
            with_open_database(lambda database: estimate_sweep(database, target, first, points, prices=prices)),
            as_json=as_json,
        )
        return
    refuse_prices(price_file)
    try:
        made = with_open_database(
            lambda database: run_sweep(
                database, target, first, points, at_once=at_once, on_fork=lambda one: _report(one, len(points))
            )
        )
    except KeyboardInterrupt:
        print_text("\nStopped waiting; the forks that are stored continue. The same command continues.", err=True)
        raise SystemExit(INTERRUPTED) from None
    runs = {one.forked.submitted.run_id: one.values for one in made}
    found = with_open_database(
        lambda database: sweep_results(
            database,
            parent,
            first,
            runs,
            measure=metrics[0] if metrics else None,
            mode=mode,
            select_on=select_on,
            report_on=report_on,
        )
    )
    if plot is not None:
        _write_plot(found, metrics, plot)
    if as_json:
        print_json(found)
        return
    for one in found.results:
        draw(several_table(one, metrics))
    _print_best(found)


def _print_estimates(found: Sequence[PointEstimate], *, as_json: bool) -> None:
    """One line for each point; exit code 1 when something is missing for one of them."""
    if as_json:
        print_json({"points": [{"values": dict(one.values), "estimate": one.estimate} for one in found]})
    else:
        table = figure_table("point", "jobs", "stored as", "calls at most", "calls expected", "time")
        for one in found:
            of = one.estimate
            table.add_row(
                Text(points_in_words(one.values)),
                str(of.jobs),
                of.existing_run or "",
                number(of.calls_at_most, 0),
                number(of.calls_expected, 0),
                duration(of.seconds),
            )
        draw(table)
        for words in dict.fromkeys(words for one in found for words in one.estimate.missing):
            print_text(f"missing: {words}", err=True)
    if any(one.estimate.missing for one in found):
        raise SystemExit(MISSING)


def _report(made: SweepPoint, points: int) -> None:
    submitted = made.forked.submitted
    what = "stored before" if not submitted.is_new else f"{submitted.jobs} jobs"
    print_text(f"r{submitted.run_id} of {points} points: {points_in_words(made.values)} ({what})", err=True)


def _print_best(found: Sweep) -> None:
    for result, best in zip(found.results, found.best, strict=False):
        mode = f" {result.mode}" if result.mode else ""
        also = f", as {listed(best.as_good)}" if best.as_good else ""
        if best.is_better:
            point = points_in_words(found.points[best.run_id])
            baseline = f"{found.parent} has {number(best.baseline)}"
            words = f"{best.run_id} ({point}), {number(best.value)}{also}; {baseline}"
        else:
            words = f"{found.parent} itself, {number(best.value)}{also}; no point is better"
        print_text(f"Best{mode} by {best.measure}: {words}.")
    print_text(found.warning, err=True)


def _write_plot(found: Sweep, metrics: tuple[str, ...], path: Path) -> None:
    from services.plots import sweep_plot

    path.write_text(sweep_plot(found, metrics[0] if metrics else None), encoding="utf-8")
    draw(f"Wrote {path}.", err=True)


def _read(path: Path) -> SweepFile:
    """The sweep of a file. Raises Refused for text that is not TOML, unknown keys, and values of another type."""
    try:
        found = tomllib.loads(read_file(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{path} is not TOML: {error}.") from None
    unknown = sorted(found.keys() - {"from", "grid"})
    stage, grid = found.get("from"), found.get("grid", {})
    if unknown or not (stage is None or isinstance(stage, str)) or not isinstance(grid, dict):
        more = f"; it has {', '.join(unknown)}" if unknown else ""
        raise Refused(f"{path} may have a text `from` and a table `grid` of lists{more}.")
    if wrong := [name for name, values in grid.items() if not isinstance(values, list) or not values]:
        raise Refused(f"{path}: {', '.join(wrong)} in `grid` is no list of values.")
    return SweepFile(stage, {name: tuple(map(_text, values)) for name, values in grid.items()})


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
