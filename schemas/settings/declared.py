"""Settings as a stage sees them: those that the list of chains declares for it, and no others."""

from collections.abc import Mapping
from typing import Any, Final

from schemas.chains import reads_of
from schemas.errors import UndeclaredSettingError
from schemas.settings.base import SettingsGroup, settings_of
from schemas.settings.frozen import FrozenSettings
from schemas.settings.preset import Preset
from schemas.settings.preset_groups import PRESET_SETTINGS
from schemas.settings.run import RunSettings
from schemas.settings.run_groups import RUN_GROUPS

_RUN_NAMES: Final[dict[str, dict[str, str]]] = {
    name: {setting.field: setting.name for setting in settings_of(group)} for name, group in RUN_GROUPS.items()
}
_PRESET_NAMES: Final[dict[str, dict[str, str]]] = {
    name: {setting.field: key for key, setting in PRESET_SETTINGS.items() if key.startswith(f"{name}.")}
    for name in Preset.model_fields
}


class _DeclaredGroup:
    """A group of settings that gives only what a stage declares."""

    __slots__ = ("_group", "_names", "_reads", "_stage")

    def __init__(self, group: SettingsGroup, names: Mapping[str, str], reads: frozenset[str], stage: str) -> None:
        self._group = group
        self._names = names
        self._reads = reads
        self._stage = stage

    def __getattr__(self, field: str) -> Any:
        name = self._names.get(field)
        if name is not None and name not in self._reads:
            raise UndeclaredSettingError(
                f"Stage '{self._stage}' reads {name}, which schemas/chains.py does not declare for it."
            )
        return getattr(self._group, field)


def declared_settings(frozen: FrozenSettings, kind: str, mode: str, stage: str) -> FrozenSettings:
    """The settings of a run for one of its stages: reading any that the stage does not declare is an error.

    A stage of a chain that is not listed, such as that of a benchmark, declares nothing and sees all of them.
    """
    reads = reads_of(kind, mode, stage)
    if reads is None:
        return frozen
    run: dict[str, Any] = {
        name: _DeclaredGroup(getattr(frozen.run, name), names, reads, stage) for name, names in _RUN_NAMES.items()
    }
    preset: dict[str, Any] = {
        name: _DeclaredGroup(getattr(frozen.preset, name), names, reads, stage)
        for name, names in (_PRESET_NAMES.items() if frozen.preset is not None else ())
    }
    return FrozenSettings(
        RunSettings.model_construct(**run), None if frozen.preset is None else Preset.model_construct(**preset)
    )
