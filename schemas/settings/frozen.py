"""The settings that are frozen into a run."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.settings.preset import Preset
from schemas.settings.preset_names import is_preset_name
from schemas.settings.run import RunSettings


class FrozenSettings(NamedTuple):
    """The settings of a stored run."""

    run: RunSettings
    preset: Preset | None
    """None for a kind of job that has no preset."""

    @property
    def expands(self) -> bool:
        """Whether a language model expands questions, unless their submission skips that."""
        return self.preset is not None and self.preset.expansion.enabled and self.run.ragq.expander == "model"


def thaw(snapshot: Mapping[str, Mapping[str, Any]]) -> FrozenSettings:
    """The settings in a run's snapshot.

    Raises Refused, with all of them, for names that are unknown to this version and for values that it does not accept.
    """
    own = {name: stored for name, stored in snapshot.items() if not is_preset_name(name)}
    return FrozenSettings(
        RunSettings.from_snapshot(own), Preset.from_snapshot(snapshot) if len(own) < len(snapshot) else None
    )
