"""The language models that a run asks, by its settings, its stages and the inputs of its jobs."""

from collections.abc import Mapping
from typing import Any

from schemas.settings.frozen import FrozenSettings, thaw
from schemas.values.queries import Origin
from store.runs.runs import NewRun


def asked_models(run: NewRun) -> dict[str, str]:
    """Stage -> the model that it asks; empty for a run that asks none."""
    frozen = thaw(run.settings)
    found = {}
    for job in run.jobs:
        for stage in job.stages:
            model = _model(run.kind, stage, frozen, job.inputs)
            if model is not None:
                found[stage] = model
    return found


def _model(kind: str, stage: str, frozen: FrozenSettings, inputs: Mapping[str, Any]) -> str | None:
    settings = frozen.run
    match kind, stage:
        case "participant", "extract":
            by_model = settings.quantitative.evidence_extractor == "llm" and inputs.get("evidence") is None
            return settings.model.quantitative_model if by_model else None
        case "participant", "validate":
            return settings.validation_model if settings.embedding.enable_reference_validation else None
        case "participant", "score":
            return settings.model.quantitative_model
        case "query", "validate":
            assert frozen.preset is not None
            preset = frozen.preset.validation
            return (preset.model or settings.model.judge_model) if preset.enabled else None
        case "query", "expand" | "generate":
            asks = inputs["expansion"]["origin"] == Origin.MODEL if stage == "expand" else inputs["response"] is None
            light = settings.query_light_model if inputs.get("light_model") else settings.query_model
            return light if asks else None
        case "index", "score":
            scorer: str = inputs["scorer_model"]
            return scorer
    return None
