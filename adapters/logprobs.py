"""Log-probabilities of the tokens of a reply, from servers that give them."""

import math
from collections.abc import Sequence
from math import exp, fsum
from statistics import fmean

import structlog
from pydantic import BaseModel, FiniteFloat

from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity, TokenSignals
from stages.ports import ChatModel, OnText


class ReportedToken(BaseModel):
    """The token at a position of the reply, or one of the likeliest there; a number that is not finite is refused."""

    logprob: FiniteFloat
    """Natural logarithm of its probability."""
    top_logprobs: list["ReportedToken"] | None = None
    """The likeliest tokens there; None or empty if the server reports none."""


def signals_of(reported: Sequence[ReportedToken] | None) -> TokenSignals | None:
    """The signals over a reply; None if the server reports nothing, or lacks the likeliest tokens at any position. A
    mean over some of the tokens would be mistaken for one over all of them."""
    if not reported or not all(token.top_logprobs for token in reported):
        return None
    likeliest = [[likely.logprob for likely in token.top_logprobs or ()] for token in reported]
    return TokenSignals(
        msp=fmean(exp(token.logprob) for token in reported),
        pe=fmean(map(entropy, likeliest)),
        energy=fmean(map(energy, likeliest)),
    )


def energy(logprobs: Sequence[float]) -> float:
    """log of the sum of the probabilities. The largest is factored out first, to avoid underflow."""
    largest = max(logprobs)
    return largest + math.log(fsum(exp(logprob - largest) for logprob in logprobs))


def entropy(logprobs: Sequence[float]) -> float:
    """Shannon's entropy in nats of the probabilities, normalised to sum to 1."""
    whole = energy(logprobs)
    return -fsum(exp(logprob - whole) * (logprob - whole) for logprob in logprobs) + 0.0


log = structlog.get_logger("ragq.chat")

_REFUSALS = frozenset({400, 422})


class OptionalLogprobs:
    """The port ChatModel over another one. A refusal that names log-probabilities is remembered per model."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._refused: set[str] = set()

    async def identity(self, model: str) -> ModelIdentity:
        return await self._chat.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """See ChatModel. A reply without log-probabilities has no token signals."""
        if not call.top_logprobs or call.model in self._refused:
            return await self._plain(call, on_text)
        try:
            return await self._chat.chat(call, on_text)
        except LLMError as error:
            if error.status not in _REFUSALS or "logprob" not in error.detail.lower():
                raise
            reply = await self._plain(call, on_text)
        self._refused.add(call.model)
        log.warning("log_probabilities_refused", model=call.model)
        return reply

    async def _plain(self, call: ChatCall, on_text: OnText | None) -> ChatReply:
        return await self._chat.chat(call.model_copy(update={"top_logprobs": 0}), on_text)
