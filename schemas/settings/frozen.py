"""The settings that are frozen into a run."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from schemas.chains import CHAINS, queue_of, reads_of
from schemas.errors import UndeclaredSettingError
from schemas.settings.base import Setting, SettingsGroup
from schemas.settings.preset import PRESET_SETTINGS, Preset, is_preset_name
from schemas.settings.run import RUN_SETTINGS, RunSettings


class FrozenSettings(NamedTuple):
    """The settings of a stored run."""

    run: RunSettings
    preset: Preset | None
    """None for a kind of job that has no preset."""

    @property
    def expands(self) -> bool:
        """Whether a language model expands questions, unless their submission skips that."""
        return self.preset is not None and self.preset.expansion.enabled and self.run.ragq.expander == "model"

    def asks_model(self, kind: str, stage: str, inputs: Mapping[str, Any]) -> bool:
        """Whether a stage of a job asks a language model, by the kind and the inputs of the job."""
        run, preset = self.run, self.preset
        match kind, stage:
            case "participant", "extract":
                return run.quantitative.evidence_extractor == "llm" and inputs.get("evidence") is None
            case "participant", "validate":
                return run.embedding.enable_reference_validation and run.ragq.reference_validator == "model"
            case "participant", "score":
                return run.ragq.scorer == "model"
            case "query", "expand":
                return bool(inputs["expansion"]["origin"] == "model")
            case "query", "validate":
                return preset is not None and preset.validation.enabled
            case "query", "generate":
                return inputs["response"] is None and run.ragq.answerer == "model"
            case "work", "repair":
                return run.ragq.repair_by == "model"
            case "work", "select":
                return run.ragq.select_by == "model"
            case "evaluation", "judge":
                return bool(inputs["verdicts_at_most"])
            case "index", "score":
                return True
        return False

    def queue_of(self, kind: str, mode: str, stage: str, inputs: Mapping[str, Any]) -> str:
        """The queue of a stage of a job."""
        if (kind, mode) not in CHAINS:
            return stage
        return queue_of(stage, asks_model=self.asks_model(kind, stage, inputs))


def thaw(snapshot: Mapping[str, Mapping[str, Any]]) -> FrozenSettings:
    """The settings in a run's snapshot.

    Raises Refused, with all of them, for names that are unknown to this version and for values that it does not accept.
    """
    own = {name: stored for name, stored in snapshot.items() if not is_preset_name(name)}
    return FrozenSettings(
        RunSettings.from_snapshot(own), Preset.from_snapshot(snapshot) if len(own) < len(snapshot) else None
    )


def _names(settings: Mapping[str, Setting]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for setting in settings.values():
        found.setdefault(setting.place[0], {})[setting.field] = setting.name
    return found


_RUN_NAMES: Final = _names(RUN_SETTINGS)
_PRESET_NAMES: Final = _names(PRESET_SETTINGS)


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
