"""A model's certainty of its tokens (Spec 051), from the log-probabilities that a server reports."""

from collections.abc import Sequence
from math import exp, fsum, log
from typing import NamedTuple

from schemas.values.chat import TokenSignals


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
