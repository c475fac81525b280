"""The log-probabilities that servers report with a reply. OpenAI's and Ollama's APIs word them alike."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, FiniteFloat

from schemas.values.chat import TokenSignals
from stages.replies.token_signals import TokenLogprobs, token_signals


class LikelyToken(Protocol):
    """One of the likeliest tokens at a place of the reply."""

    @property
    def logprob(self) -> float:
        """Natural logarithm of its probability."""
        ...


class ChosenToken(LikelyToken, Protocol):
    """The token at a place of the reply, and what else could have stood there."""

    @property
    def top_logprobs(self) -> Sequence[LikelyToken] | None:
        """The likeliest tokens there; None or empty where the server names none."""
        ...


class ReportedLikelyToken(BaseModel):
    """A LikelyToken as it is read from JSON; a number that is not finite is refused."""

    logprob: FiniteFloat


class ReportedToken(ReportedLikelyToken):
    """A ChosenToken as it is read from JSON."""

    top_logprobs: list[ReportedLikelyToken] = []


def signals_of(reported: Sequence[ChosenToken] | None) -> TokenSignals | None:
    """The signals over a reply; None where the server reports nothing, or leaves out the likeliest tokens anywhere.

    A mean over some of the tokens would look like one over all of them.
    """
    tokens = [
        TokenLogprobs(token.logprob, tuple(likely.logprob for likely in token.top_logprobs or ()))
        for token in reported or ()
    ]
    return token_signals(tokens) if all(token.likeliest for token in tokens) else None
