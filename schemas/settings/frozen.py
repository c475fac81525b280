"""The settings that are frozen into a run."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.chains import CHAINS, queue_of
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
