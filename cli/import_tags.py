"""`ragq import tags`: a vocabulary into the database."""

from pathlib import Path

import click

from cli.output import print_json
from cli.session import with_database
from schemas.errors import Refused
from schemas.values.tags import Vocabulary
from stages.files.problems import ProblemsFound
from stages.tags.vocabulary_files import FILES, parse_vocabulary
from stages.texts.plain_ids import is_plain_id
from store.database import Connection
from store.vocabularies import vocabularies


@click.command("tags")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="What the vocabulary is called; the name of its folder unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    if not is_plain_id(called):
        raise Refused(
            "A vocabulary's name has 1 to 64 letters, digits, dots, colons, hyphens and underscores; "
            "give one with --name."
        )
    vocabulary = _read(directory)

    async def keep(connection: Connection) -> int:
        return await vocabularies.keep(connection, called, vocabulary)

    vocabulary_id = with_database(keep)
    counts = {
        "tags": len(vocabulary.tags),
        "aliases": len(vocabulary.aliases),
        "documents": len(vocabulary.documents),
        "rated": sum(tag.nsfw_probability is not None for tag in vocabulary.tags),
    }
    if as_json:
        print_json({"vocabulary": called, "id": vocabulary_id, **counts})
        return
    imported = ", ".join(f"{count} {what}" for what, count in counts.items())
    click.echo(f"Imported vocabulary '{called}': {imported}.")
    click.echo(f"`ragq index tags {called}` builds its models.", err=True)


def _read(directory: Path) -> Vocabulary:
    files = {name: (directory / name).read_bytes() for name in FILES if (directory / name).is_file()}
    found, problems = parse_vocabulary(files)
    if problems:
        raise ProblemsFound(problems, of="vocabulary")
    return found
