"""Schemas that JSON can be held to on one line."""

from typing import Any

import pytest

from stack.embedded_llm import on_one_line


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
