"""The table of the settings that differ from the profile."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from cli.output import plain_table
from schemas.settings.changes import ChangedSetting
from schemas.settings.words import value_in_words


def changed_table(changed: Mapping[str, ChangedSetting], *, profile: str) -> Table:
    """A line per setting: its value, that of the profile, and where it comes from."""
    table = plain_table("changed setting", "value", f"profile {profile}", "from")
    for name, change in changed.items():
        instead = "" if change.profile is None else value_in_words(change.profile)
        table.add_row(name, Text(value_in_words(change.value)), Text(instead), change.source)
    return table
