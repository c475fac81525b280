"""Log-probabilities from servers that give them, and plain replies from those that refuse the request for them."""

import structlog

from schemas.errors import LLMError
from schemas.values.chat import ChatCall, ChatReply
from schemas.values.model_identities import ModelIdentity
from stages.ports import ChatModel, OnText

log = structlog.get_logger("ragq.chat")

_REFUSALS = frozenset({400, 422})


class OptionalLogprobs:
    """The port ChatModel over another one. A refusal that names log-probabilities is remembered per model."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._refused: set[str] = set()

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
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
