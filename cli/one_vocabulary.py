"""The commands on a vocabulary: shown, deleted."""

from dataclasses import asdict

import click

from cli.completed_names import VOCABULARY
from cli.output import confirm, draw, json_option, print_json, print_result
from cli.session import with_database
from services.tags import vocabulary_of_name
from services.vocabulary_content import delete_vocabulary
from stages.reports.numbers_in_words import counted
from store.vocabularies.vocabularies import StoredVocabulary


@click.command("show")
@click.argument("name", type=VOCABULARY)
@json_option
def show_command(name: str, as_json: bool) -> None:
    """Show a vocabulary: what it holds, and which models were built from it.

    \b
    Example:
        ragq vocabulary show topics
    """
    found = with_database(lambda connection: vocabulary_of_name(connection, name))
    if as_json:
        print_json(asdict(found))
        return
    draw(
        f"{found.name} (vocabulary {found.id}): {found.tags} tags, {found.aliases} aliases, {found.documents} "
        f"documents, imported {found.imported_at:%Y-%m-%d %H:%M}",
    )
    draw(_models(found))


@click.command("delete")
@click.argument("name", type=VOCABULARY)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(name: str, yes: bool, as_json: bool) -> None:
    """Delete a vocabulary with its models. Results of runs stay, but cannot be computed again.

    \b
    Example:
        ragq vocabulary delete topics
    """
    found = with_database(lambda connection: vocabulary_of_name(connection, name))
    if not yes:
        confirm(f"Delete vocabulary '{name}' with {counted(found.tags, 'tag')}?")
    with_database(lambda connection: delete_vocabulary(connection, name))
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
