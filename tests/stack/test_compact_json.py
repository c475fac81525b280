"""Schemas that JSON can be held to on one line."""

from typing import Any

import pytest

from stack.compact_json import ONE_LINE, on_one_line
from stages.participants.score_schema import score_json_schema
from stages.replies.verdict import VERDICT_JSON_SCHEMA


@pytest.mark.parametrize("schema", [VERDICT_JSON_SCHEMA, score_json_schema("infer", max_text_chars=40)])
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
