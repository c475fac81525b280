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
    if not settings.asks_model(kind, stage, inputs):
        return 0
    asked_again = 1 + run.ragq.reply_retries
    match kind, stage:
        case "participant", "validate":
            return len(PHQ8Item) * run.embedding.top_k_references * asked_again
        case "participant", "score":
            samples = 2 * run.consistency.n_samples if run.consistency.enabled else 1
            return samples * (1 + run.pydantic_ai.retries)
        case "query", "expand" | "generate":
            return 1
        case "query", "validate":
            assert preset is not None
            return preset.retrieval.top_n_final * asked_again
        case "work", "repair":
            return _calls(inputs.get("most_headings"), repair_reply.HEADINGS_OF_A_CALL, asked_again)
        case "work", "select":
            return _calls(inputs.get("most_headings"), select_reply.HEADINGS_OF_A_CALL, asked_again)
        case "evaluation", "judge":
            return int(inputs["verdicts_at_most"]) * asked_again
    return asked_again


def _calls(headings: int | None, of_a_call: int, asked_again: int) -> int | None:
    return None if headings is None else ceil(headings / of_a_call) * asked_again
