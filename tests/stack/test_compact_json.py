"""Schemas that JSON can be held to on one line."""

from typing import Any

import pytest

from schemas.values.phq8 import PHQ8Item
from stack.compact_json import ONE_LINE, on_one_line
from stages.participants.score_schema import evidence_json_schema, score_json_schema
from stages.replies.verdict import VERDICT_JSON_SCHEMA


@pytest.mark.parametrize(
    "schema",
    [
        VERDICT_JSON_SCHEMA,
        score_json_schema("infer", max_text_chars=40),
        evidence_json_schema({PHQ8Item.SLEEP: "i lie awake"}, max_text_chars=80),
    ],
)
def test_the_schemas_of_ragq_are_known(schema: dict[str, Any]) -> None:
    assert on_one_line(schema) == {**schema, **ONE_LINE}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"type": ["string", "nothing"]}},
        {"type": "array", "items": True},
    ],
)
def test_a_part_that_is_not_known_leaves_the_schema_to_llama_cpp(schema: dict[str, Any]) -> None:
    assert on_one_line(schema) is None
