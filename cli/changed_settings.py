"""The settings that differ from the profile, in a line or as a table."""

from collections.abc import Mapping
from typing import Any

from cli.drawing import FittingTable, Text, plain_table
from schemas.settings.base import value_in_words
from schemas.settings.changes import ChangedSetting, changed_settings, is_chosen, of_kind

#: Changes that a line names; it counts the others.
_NAMED = 3


def changes(kind: str, profile: str, snapshot: Mapping[str, Mapping[str, Any]]) -> Mapping[str, ChangedSetting]:
    """The settings of a run of this kind that its user changed, by name."""
    if not is_chosen(snapshot):
        return {}
    # What a profile says instead takes every group of settings.
    return of_kind(kind, changed_settings(profile, snapshot))


def changed_line(changed: Mapping[str, ChangedSetting], *, profile: str, run: str) -> Text:
    """How many settings differ, the first of them, and where the others are listed."""
    named = [f"{name}={value_in_words(change.value)}" for name, change in list(changed.items())[:_NAMED]]
    more = f" and {len(changed) - _NAMED} more; `ragq show {run}` lists them" if len(changed) > _NAMED else ""
    differ = "1 setting differs" if len(changed) == 1 else f"{len(changed)} settings differ"
    return Text(f"{differ} from profile {profile}: {', '.join(named)}{more}", style="dim")


def changed_table(changed: Mapping[str, ChangedSetting], *, profile: str) -> FittingTable:
    """A line per setting: its value, that of the profile, and where it comes from."""
    table = plain_table("changed setting", "value", f"profile {profile}", "from")
    for name, change in changed.items():
        instead = "" if change.profile is None else value_in_words(change.profile)
        table.add_row(name, Text(value_in_words(change.value)), Text(instead), change.source)
    return table
