"""The settings of a run that its user changed: those that differ from the profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from schemas.settings.base import settings_of, value_in_words
from schemas.settings.layers import SettingSource
from schemas.settings.preset import is_preset_name
from schemas.settings.profiles import PROFILES
from schemas.settings.run import RUN_GROUPS, RUN_SETTINGS, run_settings

OF_THE_USER: Final = frozenset(SettingSource) - {SettingSource.DEFAULT, SettingSource.PROFILE}


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A value that the user chose instead of the profile's."""

    value: Any
    profile: Any
    """The value of the profile in this version of ragq; None for a value of a preset, or a profile that is gone."""
    source: str
    """`file`, `environment`, or `option` for a value of the request."""


#: Changes that a line names; it counts the others.
_NAMED: Final = 3


def changes(kind: str, profile: str, snapshot: Mapping[str, Mapping[str, Any]]) -> dict[str, ChangedSetting]:
    """The settings of a run of this kind that its user changed, by name."""
    if not is_chosen(snapshot):
        return {}
    # What a profile says instead takes every group of settings.
    return of_kind(kind, changed_settings(profile, snapshot))


def changed_in_words(changed: Mapping[str, ChangedSetting], *, profile: str, run: str) -> str:
    """How many settings differ, the first of them, and where the others are listed."""
    named = [f"{name}={value_in_words(change.value)}" for name, change in list(changed.items())[:_NAMED]]
    more = f" and {len(changed) - _NAMED} more; `ragq show {run}` lists them" if len(changed) > _NAMED else ""
    differ = "1 setting differs" if len(changed) == 1 else f"{len(changed)} settings differ"
    return f"{differ} from profile {profile}: {', '.join(named)}{more}"


def is_chosen(snapshot: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a user gave any value of a snapshot; it may be that of the profile."""
    return any(stored["source"] in OF_THE_USER for stored in snapshot.values())


#: JSON in Postgres keeps no order of names.
_PLACES = {name: place for place, name in enumerate(RUN_SETTINGS)}


_SERVERS: Final = ("model", "llm", "ollama", "ragq")
_GROUPS_OF_KIND: Final[dict[str, tuple[str, ...]]] = {
    "participant": ("embedding", "quantitative", "consistency", "pydantic_ai", "evaluation", *_SERVERS),
    "query": ("embedding", *_SERVERS),
    "index": ("embedding", *_SERVERS),
    "tags": ("psq",),
    "evaluation": _SERVERS,
    "work": ("embedding", *_SERVERS),
}
"""The groups of settings that have a part in a kind of job."""


def changed_settings(profile: str, snapshot: Mapping[str, Mapping[str, Any]]) -> dict[str, ChangedSetting]:
    """The values of a snapshot that a file, the environment or an option changed, by name, in the order of settings."""
    instead = _values(profile)
    return {
        name: ChangedSetting(stored["value"], instead.get(name), stored["source"])
        for name, stored in sorted(snapshot.items(), key=lambda entry: _PLACES.get(entry[0], len(_PLACES)))
        if stored["source"] in OF_THE_USER and stored["value"] != instead.get(name)
    }


def of_kind(kind: str, changed: Mapping[str, ChangedSetting]) -> dict[str, ChangedSetting]:
    """The changes that have a part in a kind of job: those of its groups of settings, and of its preset."""
    names = {setting.name for group in _GROUPS_OF_KIND[kind] for setting in settings_of(RUN_GROUPS[group])}
    return {name: change for name, change in changed.items() if name in names or is_preset_name(name)}


@cache
def _values(profile: str) -> Mapping[str, Any]:
    if profile not in PROFILES:
        return {}
    run, _ = run_settings(PROFILES[profile].values, origins=dict.fromkeys(RUN_SETTINGS, profile))
    assert run is not None
    return run.values()
