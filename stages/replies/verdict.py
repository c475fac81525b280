"""The reply of a validator: the schema that a server is given, and how the reply is read."""

from collections.abc import Mapping

from schemas.errors import LLMResponseParseError
from schemas.values.verdicts import Decision
from stages.replies.asking import ReplyReader
from stages.replies.strict import parse_strict

VERDICT_JSON_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": [decision.value for decision in Decision]}},
    "required": ["decision"],
    "additionalProperties": False,
}


def verdict_reader(*, retries: int) -> ReplyReader[Decision]:
    """How the replies of a validator are read."""
    return ReplyReader(
        read=decision_of,
        form='one JSON object with "decision" alone, which is accept, reject or unsure',
        retries=retries,
        token_setting="RAGQ_VERDICT_MAX_TOKENS",
    )


def decision_of(raw: str) -> Decision:
    """The decision in a reply. Only strict JSON is accepted: a repaired verdict would be a guess.

    >>> decision_of('{"decision": "reject"}').value
    'reject'
    """
    decision = parse_strict(raw).get("decision")
    if not isinstance(decision, str) or decision not in set(Decision):
        found = "has no text 'decision'" if not isinstance(decision, str) else "has another 'decision'"
        raise LLMResponseParseError(raw, f"the object {found}; expected one of {', '.join(Decision)}")
    return Decision(decision)
