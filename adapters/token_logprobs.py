"""The log-probabilities that servers report with a reply, in the common form of OpenAI's and Ollama's APIs."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, FiniteFloat

from schemas.values.chat import TokenSignals
from stages.replies.token_signals import TokenLogprobs, token_signals


class LikelyToken(Protocol):
    """One of the likeliest tokens at a position of the reply."""

    @property
    def logprob(self) -> float:
        """Natural logarithm of its probability."""
        ...


class ChosenToken(LikelyToken, Protocol):
    """The token at a position of the reply, and its alternatives."""

    @property
    def top_logprobs(self) -> Sequence[LikelyToken] | None:
        """The likeliest tokens there; None or empty if the server reports none."""
        ...


class ReportedLikelyToken(BaseModel):
    """A LikelyToken in JSON; a number that is not finite is refused."""

    logprob: FiniteFloat


class ReportedToken(ReportedLikelyToken):
    """A ChosenToken in JSON."""

    top_logprobs: list[ReportedLikelyToken] = []


def signals_of(reported: Sequence[ChosenToken] | None) -> TokenSignals | None:
    """The signals over a reply; None if the server reports nothing, or lacks the likeliest tokens at any position.

    A mean over some of the tokens would be mistaken for one over all of them.
    """
    tokens = [
        TokenLogprobs(token.logprob, tuple(likely.logprob for likely in token.top_logprobs or ()))
        for token in reported or ()
    ]
    return token_signals(tokens) if all(token.likeliest for token in tokens) else None
