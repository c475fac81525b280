"""The language models that a run asks, by its settings, its stages and the inputs of its jobs."""

from collections.abc import Mapping
from typing import Any

from schemas.chains import CHAINS
from schemas.settings.frozen import FrozenSettings, thaw
from schemas.values.queries import Origin
from store.runs.runs import NewRun


def asked_models(run: NewRun) -> dict[str, str]:
    """Stage -> the model that it asks, in the order of the chain; empty for a run that asks none."""
    asking = {
        stage.name for (kind, _), chain in CHAINS.items() for stage in chain if kind == run.kind and stage.asks_llm
    }
    frozen = thaw(run.settings)
    found: dict[str, str] = {}
    # A million jobs whose stages ask nobody are not read.
    for job in run.jobs if asking else ():
        for stage in job.stages:
            if stage in found or stage not in asking:
                continue
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
        case "work", "repair":
            return settings.document_model if settings.ragq.repair_by == "model" else None
        case "work", "select":
            return settings.document_model if settings.ragq.select_by == "model" else None
        case "evaluation", "judge":
            return settings.model.judge_model if inputs["verdicts_at_most"] else None
        case "index", "score":
            scorer: str = inputs["scorer_model"]
            return scorer
    return None
