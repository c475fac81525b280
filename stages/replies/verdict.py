"""The reply of a validator: the schema that a server is given, and how the reply is read."""

from collections.abc import Mapping, Sequence
from math import exp, fsum, log
from typing import NamedTuple

from schemas.errors import LLMResponseParseError
from schemas.values.chat import TokenSignals
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


class TokenLogprobs(NamedTuple):
    """Natural logarithms of the probabilities at one token of a reply."""

    chosen: float
    likeliest: tuple[float, ...]
    """Of the tokens that the server reports as the likeliest there, usually five; at least one."""


def token_signals(tokens: Sequence[TokenLogprobs]) -> TokenSignals | None:
    """The three means over a reply; None for a reply without tokens.

    >>> token_signals([TokenLogprobs(0.0, (0.0,))])
    TokenSignals(msp=1.0, pe=0.0, energy=0.0)
    """
    if not tokens:
        return None
    return TokenSignals(
        msp=_mean([exp(token.chosen) for token in tokens]),
        pe=_mean([entropy(token.likeliest) for token in tokens]),
        energy=_mean([energy(token.likeliest) for token in tokens]),
    )


def energy(logprobs: Sequence[float]) -> float:
    """log of the sum of the probabilities. The largest is factored out first, to avoid underflow."""
    largest = max(logprobs)
    return largest + log(fsum(exp(logprob - largest) for logprob in logprobs))


def entropy(logprobs: Sequence[float]) -> float:
    """Shannon's entropy in nats of the probabilities, normalised to sum to 1."""
    whole = energy(logprobs)
    return -fsum(exp(logprob - whole) * (logprob - whole) for logprob in logprobs) + 0.0


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
