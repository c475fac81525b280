"""`ragq import tags`: a vocabulary into the database."""

from pathlib import Path
from shlex import quote

import click

from cli.output import json_option, print_result, print_text
from cli.session import with_database
from cli.unread_files import tell_unread
from cli.user_files import read_file
from schemas.errors import Refused
from services.vocabulary_content import keep_vocabulary, read_vocabulary
from stages.tags.vocabulary_files import FILES, RATINGS, could_rate


@click.command("tags")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="What the vocabulary is called; the name of its folder unless given.")
@click.option(
    "--ratings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of ratings with another name than ratings.csv or word_rating_probabilities.csv.",
)
@json_option
def tags_command(directory: Path, name: str | None, ratings: Path | None, as_json: bool) -> None:
    """Import a vocabulary of tags: tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv.

    Ratings are probabilities of not being safe for work; tags of 0.95 or more are found with --allow-nsfw alone. It
    takes the place of an older one of its name; jobs that were submitted with that one keep it. `ragq index tags`
    builds the models that phrases are found by.

    \b
    Example:
        ragq import tags topics/
        ragq import tags topics/ --ratings word_ratings.csv
        ragq index tags topics
    """
    called = directory.resolve().name if name is None else name
    files = {file: read_file(directory / file) for file in FILES if (directory / file).exists()}
    if ratings is not None:
        if there := [file for file in RATINGS if file in files and not ratings.samefile(directory / file)]:
            raise Refused(f"{directory / there[0]} rates tags too. Leave out --ratings, or move that file away.")
        files[RATINGS[0]] = read_file(ratings)
    given = {} if ratings is None else {ratings.name: ""}
    tell_unread(directory, FILES | given, hint=None if ratings or {*RATINGS} & {*files} else _could_rate)
    vocabulary = read_vocabulary(called, files)
    kept = with_database(lambda connection: keep_vocabulary(connection, called, vocabulary))
    counts = {count: number for count, number in kept._asdict().items() if count != "id"}
    shown = (f"{number} {what}" for what, number in counts.items() if what != "unknown_ratings")
    words = f"Imported vocabulary '{called}': {', '.join(shown)}."
    print_result({"vocabulary": called, "id": kept.id, **counts}, words, as_json=as_json)
    if kept.warning is not None:
        print_text(f"Warning: {kept.warning}", err=True)
    if not as_json:
        print_text(f"`ragq index tags {called}` builds its models.", err=True)


def _could_rate(path: Path) -> str | None:
    """What is said about a file that has the form of ratings."""
    if path.suffix != ".csv":
        return None
    with path.open("rb") as file:
        return f"ratings? `--ratings {quote(str(path))}` reads it" if could_rate(file.read(4096)) else None
