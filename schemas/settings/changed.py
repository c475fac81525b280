"""A setting that its user changed, and whether a run has any."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from schemas.settings.layers import SettingSource

OF_THE_USER: Final = frozenset(SettingSource) - {SettingSource.DEFAULT, SettingSource.PROFILE}


class ChangedSetting(NamedTuple):
    """A value that the user chose instead of the profile's."""

    value: Any
    profile: Any
    """The value of the profile in this version of ragq; None for a value of a preset, or a profile that is gone."""
    source: str


def is_chosen(snapshot: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a user gave any value of a snapshot; it may be that of the profile."""
    return any(stored["source"] in OF_THE_USER for stored in snapshot.values())
