"""The schema of extracted evidence (Spec 054)."""

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.errors import EvidenceSchemaError
from schemas.values.phq8 import PHQ8Item
from stages.texts.storable import can_be_stored

EVIDENCE_JSON_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {item.evidence_key: {"type": "array", "items": {"type": "string"}} for item in PHQ8Item},
    "required": [item.evidence_key for item in PHQ8Item],
    "additionalProperties": False,
}
"""The schema that the model's server is asked to enforce."""


def quotes_per_item(reply: object) -> dict[PHQ8Item, tuple[str, ...]]:
    """The quotes of each item, trimmed, without empty and repeated ones, in order.

    A key that is missing or null has no quotes; other keys than the eight are not read. All violations are raised
    together, as EvidenceSchemaError. Text with NUL or half a surrogate pair, which Postgres cannot store, is one.

    >>> quotes_per_item({"PHQ8_Sleep": [" up at three ", "", "up at three"]})[PHQ8Item.SLEEP]
    ('up at three',)
    """
    if not isinstance(reply, dict):
        raise EvidenceSchemaError({"root": f"expected_object_got_{type(reply).__name__}"})
    found: dict[PHQ8Item, Any] = {item: reply.get(item.evidence_key) for item in PHQ8Item}
    violations = {item.evidence_key: text for item, value in found.items() if (text := _violation(value))}
    if violations:
        raise EvidenceSchemaError(violations)
    return {item: _trimmed_and_distinct(value or ()) for item, value in found.items()}


def _violation(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, list):
        return f"expected_list_got_{type(value).__name__}"
    for at, quote in enumerate(value):
        if not isinstance(quote, str):
            return f"expected_list_str_got_{type(quote).__name__}_at_{at}"
        if not can_be_stored(quote):
            return f"expected_list_str_got_unstorable_text_at_{at}"
    return None


def _trimmed_and_distinct(quotes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for quote in quotes if (text := quote.strip())))
