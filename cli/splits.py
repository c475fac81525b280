"""`ragq splits`: the splits that are stored."""

import click
from rich.table import Column

from cli.completed_names import SPLIT
from cli.drawing import plain_table
from cli.lazy_group import LazyGroup
from cli.output import json_option, print_json, print_list, print_text
from cli.session import with_database
from cli.utc_times import with_utc_times
from stages.participants.split_names import named_split
from stages.participants.split_origins import origin_words
from store.references.splits import stored_splits

_COMMANDS = {name: f"cli.make_splits:{name}_command" for name in ("make", "verify")}


@click.group("splits", cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def splits_group() -> None:
    """Make, list and check the splits of participants.

    \b
    Example:
        ragq splits make --paper
        ragq splits verify
    """


@splits_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the splits that are stored, and how each was made.

    \b
    Example:
        ragq splits list
    """
    found = with_database(stored_splits)
    table = plain_table("split", Column("participants", justify="right"), "made by", "ids hash", "stored")
    for split in found:
        size, when = str(len(split.participant_ids)), f"{split.imported_at:%Y-%m-%d %H:%M}"
        table.add_row(split.called, size, origin_words(split.origin), split.ids_hash, when)
    none = "No split is stored. `ragq import participants DIR` imports those of a data set."
    print_list(with_utc_times(found), table, none=none, as_json=as_json)


@splits_group.command("show")
@click.argument("name", type=SPLIT)
@json_option
def show_command(name: str, as_json: bool) -> None:
    """Show the participants of a split, in its order.

    \b
    Example:
        ragq splits show paper-test
    """
    found = named_split(with_database(stored_splits), name)
    if as_json:
        print_json(with_utc_times(found))
    else:
        print_text("\n".join(map(str, found.participant_ids)))
