"""`ragq plot`: the plots of runs as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from cli.config import with_database
from cli.ids import RUN
from cli.options import Choice
from cli.output import print_result
from schemas.values.reports import Report, RetrievalReport
from schemas.values.runs import StageShare
from services.plots import RunPlot, as_file, plots_of_run, png, svg
from services.reports import report_of
from store.database import Connection
from store.runs import overviews
from store.runs.run_view import stage_shares
from store.views import reported_run

_KINDS: Final = ("risk", "items", "ranking", "time")
_ENDINGS: Final = ("svg", "png")


class PlottedRun(NamedTuple):
    """What the plots of a run are made of."""

    run_id: int
    report: Report | RetrievalReport | None
    """None for a run that has none, or whose report is not plotted."""
    shares: Sequence[StageShare]


@click.command()
@click.argument("run_ids", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option(
    "--only",
    type=Choice(_KINDS),
    multiple=True,
    help="risk: risk over coverage; items: error per item; ranking: nDCG per ranking; time: waiting, language model, "
    "database and other work per stage. Repeatable.  [default: each that the run has data for]",
)
@click.option(
    "--output",
    "-o",
    metavar="FOLDER|FILE",
    type=click.Path(path_type=Path),
    help="Where files rN-KIND are written, or the file of a single plot, such as p.svg.  [default: here]",
)
@click.option("--format", "ending", type=Choice(_ENDINGS), default="svg", show_default=True, help="Of files.")
@click.option("--json", "as_json", is_flag=True, help="Print the plots as a JSON array.")
def plot(run_ids: tuple[int, ...], only: tuple[str, ...], output: Path | None, ending: str, as_json: bool) -> None:
    """Plot runs: risk over coverage, error per item, nDCG per ranking, and where the time of each stage went.

    \b
    Example:
        ragq plot r12
        ragq plot r12 r15 --only risk --output plots --format png
    """

    async def read(connection: Connection, run_id: int) -> PlottedRun:
        wanted = set(only or _KINDS)
        kind = None if wanted == {"time"} else (await overviews.get(connection, run_id)).kind
        return PlottedRun(
            run_id,
            report_of(await reported_run(connection, run_id)) if kind in ("participant", "query") else None,
            await stage_shares(connection, run_id) if "time" in wanted else [],
        )

    async def read_all(connection: Connection) -> list[PlottedRun]:
        return [await read(connection, run_id) for run_id in run_ids]

    runs = with_database(read_all)
    plots = [plot for run in runs for plot in plots_of_run(run.run_id, run.report, run.shares, only)]
    named = None if output is None or output.is_dir() or output.suffix[1:] not in _ENDINGS else output
    if named is not None and len(plots) != 1:
        raise click.UsageError(f"{named} is one file, and there are {len(plots)} plots: choose one by --only.")
    files = [str(_write(one, output or Path(), ending, named)) for one in plots]
    print_result(_described(plots, files), "\n".join(files), as_json=as_json)


def _described(plots: Sequence[RunPlot], files: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"run": one.run, "plot": one.kind, "title": one.title, "file": file}
        for one, file in zip(plots, files, strict=True)
    ]


def _write(one: RunPlot, folder: Path, ending: str, named: Path | None) -> Path:
    file = named or folder / f"{one.run}-{one.kind}.{ending}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".png":
        file.write_bytes(png(one.draw, one.title))
    else:
        file.write_text(as_file(svg(one.title, one.draw)), encoding="utf-8")
    return file
