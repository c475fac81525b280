"""The most language model calls that a stage of a job can make, by its settings."""

from collections.abc import Mapping
from typing import Any

from schemas.settings.frozen import FrozenSettings
from schemas.values.phq8 import PHQ8Item


def most_calls(kind: str, stage: str, settings: FrozenSettings, inputs: Mapping[str, Any]) -> int:
    """Every call with all of its repetitions; 0 for a stage that asks no language model.

    Transport errors are not counted: a call that got no reply is not paid.
    """
    run, preset = settings.run, settings.preset
    asked_again = 1 + run.ragq.reply_retries
    match kind, stage:
        case "participant", "extract":
            is_asked = inputs.get("evidence") is None and run.quantitative.evidence_extractor == "llm"
            return asked_again if is_asked else 0
        case "participant", "validate":
            is_asked = run.embedding.enable_reference_validation
            return len(PHQ8Item) * run.embedding.top_k_references * asked_again if is_asked else 0
        case "participant", "score":
            samples = 2 * run.consistency.n_samples if run.consistency.enabled else 1
            return samples * (1 + run.pydantic_ai.retries)
        case "query", "expand":
            return int(inputs["expansion"]["origin"] == "model")
        case "query", "validate":
            assert preset is not None
            return preset.retrieval.top_n_final * asked_again if preset.validation.enabled else 0
        case "query", "generate":
            return int(inputs["response"] is None)
        case "evaluation", "judge":
            return int(inputs["verdicts_at_most"]) * asked_again
        case "index", "score":
            return asked_again
    return 0
