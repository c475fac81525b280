"""`ragq vocabulary`: the vocabularies of tags."""

import click

from cli.config import with_database
from cli.options import group, wanted_options
from cli.output import confirm, draw, json_option, print_json, print_rest, print_result
from cli.sheets import print_listing
from schemas.values.requests import TagsWanted
from schemas.values.tags import Tag
from services.listings import tags_table, vocabularies_table
from services.tags import delete_vocabulary, vocabulary_of_name
from stages.reports.words import counted
from store import vocabularies
from store.database import Connection
from store.vocabularies import StoredVocabulary


@group()
def vocabulary() -> None:
    """List, show and delete vocabularies: closed sets of tags that phrases are mapped to.

    \b
    Example:
        ragq import tags topics/
        ragq vocabulary show topics
    """


@vocabulary.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the vocabularies, with the models that they have.

    \b
    Example:
        ragq vocabulary list
    """
    listed = with_database(vocabularies.current)
    none = "There is no vocabulary yet. `ragq import tags DIR` makes one."
    print_listing(listed, vocabularies_table(listed), none=none, as_json=as_json)


@vocabulary.command("show")
@click.argument("name")
@json_option
def show_command(name: str, as_json: bool) -> None:
    """Show a vocabulary: what it holds, and which models were built from it.

    \b
    Example:
        ragq vocabulary show topics
    """
    found = with_database(vocabulary_of_name, name)
    if as_json:
        print_json(found)
        return
    draw(
        f"{found.name} (vocabulary {found.id}): {found.tags} tags, {found.aliases} aliases, {found.documents} "
        f"documents, imported {found.imported_at:%Y-%m-%d %H:%M}",
    )
    draw(_models(found))


@vocabulary.command("tags")
@click.argument("name")
@wanted_options(TagsWanted, "search", "limit", "offset", limit=20)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def tags_command(name: str, wanted: TagsWanted, as_json: bool) -> None:
    """List the tags of a vocabulary, the most used first.

    \b
    Example:
        ragq vocabulary tags topics --search coat
    """

    async def read(connection: Connection) -> tuple[list[Tag], int]:
        found = await vocabulary_of_name(connection, name)
        return await vocabularies.tags_part(connection, found.id, **dict(wanted))

    listed, found = with_database(read)
    none = f"Vocabulary '{name}' has no such tag. `ragq vocabulary tags {name}` lists all."
    print_listing(listed, tags_table(listed), none=none, as_json=as_json)
    print_rest(found, len(listed), offset=wanted.offset)


@vocabulary.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(name: str, yes: bool, as_json: bool) -> None:
    """Delete a vocabulary with its models. Results of runs stay, but cannot be computed again.

    \b
    Example:
        ragq vocabulary delete topics
    """
    found = with_database(vocabulary_of_name, name)
    if not yes:
        confirm(f"Delete vocabulary '{name}' with {counted(found.tags, 'tag')}?")
    with_database(delete_vocabulary, name)
    print_result({"deleted": name, "tags": found.tags}, f"Deleted vocabulary '{name}'.", as_json=as_json)


def _models(found: StoredVocabulary) -> str:
    if found.model is None or found.indexed_at is None:
        return f"no models yet; `ragq index tags {found.name}` builds them"
    return (
        f"tokens placed by {found.model} ({found.dimension} dimensions, {(found.model_digest or '')[:12]}), "
        f"{_similarity(found)}, context model {(found.context_digest or '')[:12]}, "
        f"built {found.indexed_at:%Y-%m-%d %H:%M}"
    )


def _similarity(found: StoredVocabulary) -> str:
    if found.similarity_digest is None:
        return "no spelling and meaning (import and index it again, or set PSQ_SIMILARITY=original)"
    return f"spelling and meaning by {found.sentence_model} ({found.similarity_digest[:12]})"
