"""Verdicts of a language model on one candidate after another."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from schemas.errors import LLMResponseParseError
from schemas.values.participants import Decision
from stages.ports import Deferred
from stages.replies.asking import ReplyReader
from stages.replies.strict import parse_strict

Candidate = TypeVar("Candidate")


async def decide(
    candidates: Sequence[Candidate], *, ask: Callable[[int, Candidate], Awaitable[Decision]], enough: int | None
) -> list[Decision]:
    """The decisions on the candidates in order, until `enough` accept; None asks about all. Ranks count from 1.

    Raises Deferred when a decision comes later, once those are asked for that are needed even if it accepts.
    """
    decisions: list[Decision] = []
    deferred: list[Deferred] = []
    for rank, candidate in enumerate(candidates, start=1):
        if decisions.count(Decision.ACCEPT) + len(deferred) == enough:
            break
        try:
            decisions.append(await ask(rank, candidate))
        except Deferred as later:
            deferred.append(later)
    if deferred:
        raise deferred[0]
    return decisions


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
