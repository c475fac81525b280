"""The tokens of a call to a language model, before it is made."""

from typing import Final

from schemas.values.chat import ChatCall, ChatReply

_BYTES_PER_TOKEN: Final = 3
_TOKENS_PER_MESSAGE: Final = 16
_REPLY_TOKENS: Final = 1024


def estimated_tokens(call: ChatCall) -> int:
    """The tokens that a call will use: rather too many, since what is left over is free again after the call.

    >>> estimated_tokens(ChatCall(model="m", messages=({"role": "user", "content": "a" * 300},), max_tokens=20))
    136
    """
    prompt_bytes = sum(len(message.content.encode(errors="replace")) for message in call.messages)
    prompt = prompt_bytes // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE * len(call.messages)
    return prompt + (call.max_tokens or _REPLY_TOKENS)


def used_tokens(call: ChatCall, reply: ChatReply) -> int:
    """The tokens that a server counted; the estimate where it counts none."""
    if reply.prompt_tokens is None and reply.reply_tokens is None:
        return estimated_tokens(call)
    return (reply.prompt_tokens or 0) + (reply.reply_tokens or 0)
