"""A chat model whose replies the test defines."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import LLMTimeoutError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity, TokenSignals
from stages.ports import OnText


def served(model: str = "m", digest: str = "d", **fields: Any) -> ModelIdentity:
    return ModelIdentity(**{"backend": "scripted", "server": "memory", "model": model, "digest": digest, **fields})


@dataclass
class ScriptedChat:
    """A ChatModel whose `answer` gives the text of each reply, or raises. `calls` lists the calls in order."""

    answer: Callable[[ChatCall], str]
    stop_reason: str = "stop"
    calls: list[ChatCall] = field(default_factory=list)
    delay_s: float = 0.0
    tokens: TokenSignals | None = None
    """What comes with each reply to a call that asks for log-probabilities."""

    async def identity(self, model: str) -> ModelIdentity:
        return served(model, f"digest of {model}")

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        self.calls.append(call)
        if self.delay_s > call.timeout_s:
            raise LLMTimeoutError(call.timeout_s)
        await asyncio.sleep(self.delay_s)
        text = self.answer(call)
        if on_text is not None:
            for piece in re.findall(r"\s*\S+|\s+$", text):
                on_text(piece)
        return ChatReply(
            text=text,
            model=call.model,
            digest=(await self.identity(call.model)).digest,
            stop_reason=self.stop_reason,
            prompt_tokens=1,
            reply_tokens=1,
            seconds=self.delay_s,
            tokens=self.tokens if call.top_logprobs else None,
        )


def replying(*replies: str, stop_reason: str = "stop") -> ScriptedChat:
    remaining = iter(replies)
    return ScriptedChat(lambda call: next(remaining), stop_reason=stop_reason)


def deciding(*decisions: str) -> ScriptedChat:
    return replying(*(json.dumps({"decision": decision}) for decision in decisions))
