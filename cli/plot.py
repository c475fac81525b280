"""`ragq plot`: the plots of runs in the terminal, or as files."""

from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.choices import Choice
from cli.drawing import Drawing, Group, Text
from cli.ids import RUN
from cli.output import console, draw, print_json, screen
from cli.session import with_database
from stages.reports.numbers_in_words import NOT_AVAILABLE

if TYPE_CHECKING:
    from services.plots.of_run import RunPlot
    from store.database import Connection

_KINDS: Final = ("risk", "items", "ranking", "time")
_STYLES: Final = ("dim", "yellow", "green", "blue", "magenta")
"""Of the parts of a bar that has several."""
_BLOCK: Final = "█"


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
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write files rN-KIND there instead of drawing in the terminal.",
)
@click.option("--format", "ending", type=Choice(("svg", "png")), default="svg", show_default=True, help="Of files.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as a JSON array, one object per plot.")
def plot(run_ids: tuple[int, ...], only: tuple[str, ...], output: Path | None, ending: str, as_json: bool) -> None:
    """Plot runs: risk over coverage, error per item, nDCG per ranking, and where the time of each stage went.

    \b
    Example:
        ragq plot r12
        ragq plot r12 r15 --only risk --output plots --format png
    """
    # The statistics of reports take a third of a second to load.
    from services.plots.of_run import plots_of_run

    async def read(connection: "Connection") -> "list[RunPlot]":
        return [found for run_id in run_ids for found in await plots_of_run(connection, run_id, only)]

    plots = with_database(read)
    files = [] if output is None else [str(_write(one, output, ending)) for one in plots]
    if as_json:
        print_json(
            [
                {
                    **{"run": one.run, "plot": one.kind, "title": one.title, "parts": one.legend},
                    "bars": [bar._asdict() for bar in one.bars],
                    "file": file,
                }
                for one, file in zip_longest(plots, files)
            ]
        )
    elif files:
        click.echo("\n".join(files))
    else:
        on = screen()
        for one in plots:
            draw(_in_terminal(one, on.width if on else console().width))


def _write(one: "RunPlot", folder: Path, ending: str) -> Path:
    # Matplotlib takes as long again.
    from services.plots.drawn_run import draw_run_plot
    from services.plots.svg import as_file, png, svg

    draw_it = partial(draw_run_plot, plot=one)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{one.run}-{one.kind}.{ending}"
    if ending == "png":
        file.write_bytes(png(draw_it, one.title))
    else:
        file.write_text(as_file(svg(one.title, draw_it)), encoding="utf-8")
    return file


def _in_terminal(one: "RunPlot", columns: int) -> Drawing:
    """A bar per line, its parts in colours, and their numbers."""
    names = max(len(bar.name) for bar in one.bars)
    numbers = {bar: " + ".join(_number(part) for part in bar.parts) + one.unit for bar in one.bars}
    width = max(10, columns - names - max(map(len, numbers.values())) - 3)
    longest = max(sum(part or 0.0 for part in bar.parts) for bar in one.bars) or 1.0
    lines = [Text(one.title, style="bold")]
    if len(one.legend) > 1:
        legend = [Text.assemble((_BLOCK, _style(part, one)), f" {words}  ") for part, words in enumerate(one.legend)]
        lines.append(Text.assemble(*legend))
    for bar in one.bars:
        line: list[str | tuple[str, str]] = [f"{bar.name:<{names}} "]
        drawn = 0
        for part, length in enumerate(bar.parts):
            until = round(width * sum(before or 0.0 for before in bar.parts[: part + 1]) / longest)
            line.append((_BLOCK * (until - drawn), _style(part, one) if length else ""))
            drawn = until
        lines.append(Text.assemble(*line, " " * (width - drawn + 1) + numbers[bar]))
    return Group(*lines, Text())


def _number(part: float | None) -> str:
    return NOT_AVAILABLE if part is None else f"{part:.3g}"


def _style(part: int, one: "RunPlot") -> str:
    return _STYLES[part] if len(one.legend) > 1 else "blue"
