"""The settings of a run that its user changed: those that differ from the profile."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.settings.layers import SettingSource
from schemas.settings.profiles import PROFILES
from schemas.settings.run import RUN_SETTINGS, run_settings

_OF_THE_USER = (SettingSource.FILE, SettingSource.ENVIRONMENT, SettingSource.OPTION)


#: JSON in Postgres keeps no order of names.
_PLACES = {name: place for place, name in enumerate(RUN_SETTINGS)}


class ChangedSetting(NamedTuple):
    """A value that the user chose instead of the profile's."""

    value: Any
    profile: Any
    """The value of the profile in this version of ragq; None for a value of a preset, or a profile that is gone."""
    source: str


def changed_settings(profile: str, snapshot: Mapping[str, Mapping[str, Any]]) -> dict[str, ChangedSetting]:
    """The values of a snapshot that a file, the environment or an option changed, by name, in the order of settings."""
    instead = _values(profile)
    return {
        name: ChangedSetting(stored["value"], instead.get(name), stored["source"])
        for name, stored in sorted(snapshot.items(), key=lambda entry: _PLACES.get(entry[0], len(_PLACES)))
        if stored["source"] in _OF_THE_USER and stored["value"] != instead.get(name)
    }


def _values(profile: str) -> Mapping[str, Any]:
    if profile not in PROFILES:
        return {}
    settings, _ = run_settings(PROFILES[profile].values, origins=dict.fromkeys(RUN_SETTINGS, f"profile {profile}"))
    return {} if settings is None else settings.values()
