"""`ragq plot`: the plots of runs as files."""

from pathlib import Path
from typing import Final

import click

from cli.config import with_database
from cli.ids import RUN
from cli.options import Choice
from cli.output import print_result
from schemas.values.reports import Report, RetrievalReport
from services.plots import KINDS, chosen_plots
from services.reports import report_of
from store.database import Connection
from store.views import reported_run

_ENDINGS: Final = ("svg", "png")


@click.command()
@click.argument("run_ids", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option(
    "--only",
    type=Choice(KINDS),
    multiple=True,
    help="risk: risk over coverage; items: error per item; calibration: share of exact scores; ranking: nDCG per "
    "ranking. Repeatable.  [default: each that the run has data for]",
)
@click.option(
    "--output",
    "-o",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where files rN-KIND are written.  [default: here]",
)
@click.option("--format", "ending", type=Choice(_ENDINGS), default="svg", show_default=True, help="Of files.")
@click.option("--json", "as_json", is_flag=True, help="Print the plots as a JSON array.")
def plot(run_ids: tuple[int, ...], only: tuple[str, ...], output: Path, ending: str, as_json: bool) -> None:
    """Plot runs: risk over coverage, error per item, calibration, and nDCG per ranking.

    \b
    Example:
        ragq plot r12
        ragq plot r12 r15 --only risk --output plots --format png
    """

    async def read(connection: Connection) -> dict[int, Report | RetrievalReport]:
        return {run_id: report_of(await reported_run(connection, run_id)) for run_id in run_ids}

    found = []
    for run_id, report in with_database(read).items():
        for one in chosen_plots(run_id, report, only):
            file = output / f"r{run_id}-{one.kind}.{ending}"
            output.mkdir(parents=True, exist_ok=True)
            file.write_bytes(one.as_file(ending))
            found.append({"run": f"r{run_id}", "plot": one.kind, "title": one.title, "file": str(file)})
    print_result(found, "\n".join(one["file"] for one in found), as_json=as_json)
