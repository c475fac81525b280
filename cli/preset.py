"""`ragq preset`: named values for query runs."""

from collections.abc import Mapping
from typing import Any

import click

from cli.drawing import Text, plain_table
from cli.lazy_group import LazyGroup
from cli.output import print_list
from cli.session import with_database
from schemas.settings.preset import differing_values, preset_of
from store.questions import preset_lines
from store.questions.preset_lines import PresetLine
from store.questions.presets import StoredPreset

_COMMANDS = {name: f"cli.one_preset:{name}_command" for name in ("show", "diff", "create", "set", "delete")}


@click.group(cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def preset() -> None:
    """Manage presets: named values for query runs (search, ranking, validation, prompt).

    \b
    Example:
        ragq preset create small --from Balanced augmentation.top_n_contexts=3
    """


@preset.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the presets, the default first.

    \b
    Example:
        ragq preset list
    """
    # What is allowed takes every group of settings.
    lines = with_database(preset_lines.lines)
    found = [(line, preset_of(line.values, origin=line.origin).values()) for line in lines]
    table = plain_table("", "preset", "differs in", "description", "changed")
    for line, values in found:
        table.add_row(
            "*" if line.is_default else "",
            Text(line.name),
            str(len(differing_values(values))),
            Text(line.description or ""),
            f"{line.updated_at:%Y-%m-%d %H:%M}",
        )
    none = "No preset is stored. `ragq preset create NAME` makes one."
    print_list([preset_json(line, values) for line, values in found], table, none=none, as_json=as_json)


def preset_json(stored: PresetLine | StoredPreset, values: Mapping[str, Any]) -> dict[str, Any]:
    """A preset as JSON shows it."""
    return {
        "name": stored.name,
        "is_default": stored.is_default,
        "description": stored.description,
        "values": values,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }
