"""`ragq import tags`: a vocabulary into the database."""

from pathlib import Path

import click

from cli.output import json_option, print_result
from cli.session import with_database
from cli.unread_files import tell_unread
from cli.user_files import read_file
from services.vocabulary_content import keep_vocabulary, read_vocabulary
from stages.tags.vocabulary_files import FILES


@click.command("tags")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="What the vocabulary is called; the name of its folder unless given.")
@json_option
def tags_command(directory: Path, name: str | None, as_json: bool) -> None:
    """Import a vocabulary of tags: tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv.

    It takes the place of an older one of its name; jobs that were submitted with that one keep it. `ragq index tags`
    builds the models that phrases are found by.

    \b
    Example:
        ragq import tags topics/
        ragq index tags topics
    """
    called = directory.resolve().name if name is None else name
    files = {file: read_file(directory / file) for file in FILES if (directory / file).exists()}
    tell_unread(directory, FILES)
    vocabulary = read_vocabulary(called, files)
    kept = with_database(lambda connection: keep_vocabulary(connection, called, vocabulary))
    counts = {count: number for count, number in kept._asdict().items() if count != "id"}
    shown = (f"{number} {what}" for what, number in counts.items() if what != "unknown_ratings")
    words = f"Imported vocabulary '{called}': {', '.join(shown)}."
    print_result({"vocabulary": called, "id": kept.id, **counts}, words, as_json=as_json)
    if kept.warning is not None:
        click.echo(f"Warning: {kept.warning}", err=True)
    if not as_json:
        click.echo(f"`ragq index tags {called}` builds its models.", err=True)
