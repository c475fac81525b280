"""`ragq demo-data`: a data set to try ragq on."""

from pathlib import Path

import click

from demo.data_set import SEED, write_data_set
from demo.library import write_library


@click.command("demo-data", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--works", is_flag=True, help="Three short works of markdown for a corpus, instead of interviews.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="The same seed writes the same bytes.")
def demo_data(directory: Path, works: bool, seed: int) -> None:
    """Write 142 made-up interviews with PHQ-8 labels and splits, in the DAIC-WOZ layout; or works for a corpus.

    Nothing in them is of a real person. A folder that holds anything else is left alone.

    \b
    Example:
        ragq demo-data demo-data
        ragq import participants demo-data
        ragq demo-data --works demo-works
        ragq import works demo-works --wait
    """
    if works:
        click.echo(f"Wrote {', '.join(write_library(directory))} to {directory}.")
        return
    write_data_set(directory, seed)
    click.echo(f"Wrote 142 synthetic interviews to {directory}.")
