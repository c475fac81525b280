"""Requests of Ollama's clients in llama.cpp's terms."""

from typing import Any

import pytest

from schemas.values.participants import PHQ8Item
from stack.ollama_requests import ChatRequest
from stages.participants.score_reply import evidence_json_schema, score_json_schema
from stages.replies.strict import VERDICT_JSON_SCHEMA

OPEN_OBJECT = {"type": "object", "properties": {"a": {"enum": [1]}}}


def penalty(schema: Any, **options: Any) -> float:
    request = ChatRequest(model="m", format=schema, options=options)
    found: float = request.for_llama_cpp()["repeat_penalty"]
    return found


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
    assert penalty(schema) == expected
