"""`ragq demo-data`: a data set to try ragq on."""

from pathlib import Path

import click

from cli.output import print_result
from demo.data_set import SEED, write_data_set
from demo.library import write_library
from demo.tag_vocabulary import write_tag_vocabulary


@click.command("demo-data", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--works", is_flag=True, help="Three short works of markdown for a corpus, instead of interviews.")
@click.option("--tags", is_flag=True, help="A vocabulary of forty tags for pictures, instead of interviews.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the folder and what it holds.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="The same seed writes the same bytes.")
def demo_data(directory: Path, works: bool, tags: bool, as_json: bool, seed: int) -> None:
    """Write 142 synthetic interviews with PHQ-8 labels and splits, in the DAIC-WOZ layout; or works, or a vocabulary.

    No text in them is from a real person. A folder that holds anything else is left alone.

    \b
    Example:
        ragq demo-data demo-data
        ragq import participants demo-data
        ragq demo-data --works demo-works
        ragq import works demo-works --wait
        ragq demo-data --tags demo-tags
        ragq import tags demo-tags
    """
    if works and tags:
        raise click.UsageError("--works and --tags exclude each other: each writes a separate folder.")
    if works:
        files = write_library(directory)
        words = ", ".join(files)
    elif tags:
        files = write_tag_vocabulary(directory)
        words = ", ".join(files)
    else:
        files = write_data_set(directory, seed)
        words = "142 synthetic interviews"
    written = {"directory": str(directory), "files": files}
    print_result(written, f"Wrote {words} to {directory}.", as_json=as_json)
