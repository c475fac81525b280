"""The most language model calls that a stage of a job can make, by its settings."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from schemas.settings.frozen import FrozenSettings
from schemas.values.phq8 import PHQ8Item
from stages.documents import repair_reply, select_reply


def most_calls(kind: str, stage: str, settings: FrozenSettings, inputs: Mapping[str, Any]) -> int | None:
    """Every call with all of its repetitions; 0 for a stage that asks no language model.

    None where it is not known before an earlier stage. Transport errors are not counted: a call that got no reply is
    not paid.
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
        case "work", "repair":
            by_model = run.ragq.repair_by == "model"
            return _calls(inputs.get("most_headings"), repair_reply.HEADINGS_OF_A_CALL, asked_again) if by_model else 0
        case "work", "select":
            by_model = run.ragq.select_by == "model"
            return _calls(inputs.get("most_headings"), select_reply.HEADINGS_OF_A_CALL, asked_again) if by_model else 0
        case "evaluation", "judge":
            return int(inputs["verdicts_at_most"]) * asked_again
        case "index", "score":
            return asked_again
    return 0


def _calls(headings: int | None, of_a_call: int, asked_again: int) -> int | None:
    return None if headings is None else ceil(headings / of_a_call) * asked_again
