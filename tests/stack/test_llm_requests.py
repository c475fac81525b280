"""Requests of Ollama's clients in llama.cpp's terms."""

from typing import Any

import pytest

from schemas.values.participants import PHQ8Item
from stack.llm_server import ChatRequest
from stages.participants.score_reply import evidence_json_schema, score_json_schema
from stages.replies.asking import VERDICT_JSON_SCHEMA

OPEN_OBJECT = {"type": "object", "properties": {"a": {"enum": [1]}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, 1.1),
        ("json", 1.1),
        (score_json_schema("strict", max_text_chars=40), 1.1),
        (OPEN_OBJECT, 1.1),
        (OPEN_OBJECT | {"additionalProperties": False}, 1.0),
        (VERDICT_JSON_SCHEMA, 1.0),
        (evidence_json_schema({PHQ8Item.SLEEP: "i lie awake"}, max_text_chars=80), 1.0),
    ],
)
def test_repetition_is_penalised_unless_there_are_choices_alone(schema: Any, expected: float) -> None:
    request = ChatRequest(model="m", messages=[], format=schema)

    assert request.for_llama_cpp()["repeat_penalty"] == expected
