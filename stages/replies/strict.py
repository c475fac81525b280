"""Strict JSON of RFC 8259."""

import json
from collections.abc import Callable, Sequence
from math import exp, fsum, log
from typing import Any, NamedTuple, NoReturn

from schemas.errors import LLMResponseParseError
from schemas.values.chat import TokenSignals
from stages.replies.asking import strip_whole_fence
from stages.texts.characters import without_zero_width

Pairs = list[tuple[str, Any]]
"""The members of an object, in order."""


def parse_strict(raw: str) -> dict[str, Any]:
    """The object of a validator's reply, which may be inside a code fence and nothing else.

    Nothing is repaired, and a repeated name is refused, because either value would be a guess.
    Raises LLMResponseParseError.

    >>> parse_strict('```json\\n{"decision": "accept"}\\n```')
    {'decision': 'accept'}
    """
    try:
        return strict_object(strip_whole_fence(raw))
    except ValueError as error:
        raise LLMResponseParseError(raw, str(error)) from None


def refuse_repeated_names(pairs: Pairs) -> dict[str, Any]:
    """The object with these members. Raises ValueError when two of them have one name."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return members


def strict_object(text: str, *, members: Callable[[Pairs], dict[str, Any]] = refuse_repeated_names) -> dict[str, Any]:
    """The JSON object in `text`; `members` builds each object in it.

    Raises ValueError, whose message has the position but no part of the text.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {json_type(value)}")
    return value


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these members, for a server to enforce."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value of any type."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def json_type(value: object) -> str:
    """The JSON type of a parsed value: object, array, string, boolean, number or null."""
    for types, word in ((dict, "object"), (list, "array"), (str, "string"), (bool, "boolean"), (int | float, "number")):
        if isinstance(value, types):
            return word
    return "null"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class RepeatedNameError(ValueError):
    """A name occurs twice in one object, with different values."""

    def __init__(self) -> None:
        super().__init__("a name occurs twice in one object")


def reply_object(text: str) -> tuple[dict[str, Any], bool]:
    """The JSON object in `text`, and whether zero-width characters were removed from any of its names.

    Raises ValueError as `strict_object` does, and RepeatedNameError for a name that is repeated with another value,
    because either value would be a guess.
    """
    members = _Members()
    value = strict_object(text, members=members)
    return value, members.had_zero_width_names


class _Members:
    """Builds each object of a text from its names and values."""

    def __init__(self) -> None:
        self.had_zero_width_names = False

    def __call__(self, pairs: Pairs) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            visible = without_zero_width(name)
            self.had_zero_width_names |= visible != name
            if members.setdefault(visible, value) != value:
                raise RepeatedNameError
        return members


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
