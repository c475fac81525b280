"""`ragq vocabulary`: the vocabularies of tags."""

import click

from cli.drawing import plain_table
from cli.lazy_group import LazyGroup
from cli.output import print_list
from cli.session import with_database
from store.vocabularies import vocabularies

_COMMANDS = {name: f"cli.one_vocabulary:{name}_command" for name in ("show", "delete")}


@click.group(cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
    table = plain_table("name", "tags", "aliases", "documents", "model", "imported")
    for one in listed:
        counts = map(str, (one.tags, one.aliases, one.documents))
        table.add_row(one.name, *counts, one.model or "none yet", f"{one.imported_at:%Y-%m-%d %H:%M}")
    none = "There is no vocabulary yet. `ragq import tags DIR` makes one."
    print_list(listed, table, none=none, as_json=as_json)
