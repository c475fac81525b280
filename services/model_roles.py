"""The language models that a run asks, by its settings, its stages and the inputs of its jobs."""

from collections.abc import Mapping
from typing import Any

from schemas.chains import CHAINS
from schemas.settings.frozen import FrozenSettings, thaw
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
            if stage in asking and stage not in found and frozen.asks_model(run.kind, stage, job.inputs):
                found[stage] = model_of(run.kind, stage, frozen, job.inputs)
    return found


def model_of(kind: str, stage: str, frozen: FrozenSettings, inputs: Mapping[str, Any]) -> str:
    """The model that a stage asks which asks one."""
    settings = frozen.run
    match kind, stage:
        case "participant", "validate":
            return settings.validation_model
        case "query", "validate":
            assert frozen.preset is not None
            return frozen.preset.validation.model or settings.model.judge_model
        case "query", _:
            return settings.query_light_model if inputs.get("light_model") else settings.query_model
        case "work", _:
            return settings.document_model
        case "evaluation", _:
            return settings.model.judge_model
        case "index", _:
            scorer: str = inputs["scorer_model"]
            return scorer
    return settings.model.quantitative_model
