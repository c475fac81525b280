"""The chains, and lists that must agree with them."""

from typing import Any

import pytest

from schemas.chains import CHAINS, in_order, output_of, stage_that_stores, stages_of
from schemas.errors import FailureCategory, LLMResponseParseError, LLMTimeoutError
from schemas.settings.preset import Preset
from schemas.settings.run import FrozenSettings, thaw
from services.questions.steps import STAGES as STEPS
from stages.failures import categorise


@pytest.mark.parametrize(("kind", "mode"), CHAINS)
def test_a_chain_is_in_order_and_each_stage_is_found_by_what_it_alone_stores(kind: str, mode: str) -> None:
    chain = CHAINS[kind, mode]

    assert in_order(kind, set(stages_of(kind, mode))) == [stage.name for stage in chain]
    assert len({stage.name for stage in chain}) == len({stage.output for stage in chain}) == len(chain)
    for stage in chain:
        assert stage_that_stores(kind, mode, stage.output) == stage.name
        assert output_of(kind, mode, stage.name) is stage.output


MODEL, NOBODY = {"expansion": {"origin": "model"}}, {"expansion": {"origin": "none"}}


@pytest.mark.parametrize(
    ("kind", "mode", "stage", "changed", "inputs", "queue"),
    [
        ("query", "answer", "expand", {}, MODEL, "expand"),
        ("query", "answer", "expand", {}, NOBODY, "expand.local"),
        ("query", "answer", "generate", {}, MODEL, "generate"),
        ("query", "answer", "generate", {"RAGQ_ANSWERER": "extractive"}, MODEL, "generate.local"),
        ("query", "answer", "validate", {"validation.enabled": "true"}, MODEL, "validate"),
        ("query", "answer", "validate", {"validation.enabled": "false"}, MODEL, "validate.local"),
        ("query", "answer", "rerank", {}, MODEL, "rerank"),
        ("participant", "few_shot", "extract", {}, {}, "extract"),
        ("participant", "few_shot", "extract", {}, {"evidence": {}}, "extract.local"),
        ("participant", "few_shot", "extract", {"QUANTITATIVE_EVIDENCE_EXTRACTOR": "similarity"}, {}, "extract.local"),
        ("participant", "few_shot", "validate", {}, {}, "validate.local"),
        ("participant", "few_shot", "validate", {"EMBEDDING_ENABLE_REFERENCE_VALIDATION": "true"}, {}, "validate"),
        ("participant", "zero_shot", "score", {}, {}, "score"),
        ("participant", "few_shot", "score", {"RAGQ_SCORER": "neighbours"}, {}, "score.local"),
        ("tags", "candidates", "validate", {}, {}, "validate.local"),
        ("work", "document", "repair", {"RAGQ_REPAIR_BY": "model"}, {}, "repair"),
        ("work", "document", "select", {}, {}, "select.local"),
        ("evaluation", "answers", "judge", {}, {"verdicts_at_most": 2}, "judge"),
        ("index", "chunk_scores", "score", {}, {}, "score"),
        ("noop", "noop", "expand", {}, {}, "expand"),
    ],
)
def test_a_stage_that_asks_no_model_is_in_a_queue_of_its_own(
    kind: str, mode: str, stage: str, changed: dict[str, str], inputs: dict[str, Any], queue: str
) -> None:
    preset = Preset().changed({name: value for name, value in changed.items() if "." in name}, origin="test")
    run = thaw({name: {"value": value} for name, value in changed.items() if "." not in name}).run
    settings = FrozenSettings(run, preset if kind == "query" else None)

    assert settings.queue_of(kind, mode, stage, inputs) == queue


@pytest.mark.parametrize("name", sorted({stage.name for chain in CHAINS.values() for stage in chain if stage.asks_llm}))
def test_a_stage_that_asks_a_language_model_has_failures_of_its_own(name: str) -> None:
    categories = [categorise(error, name) for error in (LLMResponseParseError("", "no JSON"), LLMTimeoutError(1.0))]
    assert FailureCategory.LLM_ERROR not in categories


def test_the_steps_of_a_question_are_its_chain_in_parts() -> None:
    chain = stages_of("query", "answer")
    parts = [chain[chain.index(first) : chain.index(last) + 1] for first, last in STEPS.values()]
    assert sum(parts, ()) == chain
