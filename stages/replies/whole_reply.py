"""Replies that were not cut off."""

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatReply

_CUT_OFF = "length"


def is_cut_off(reply: ChatReply) -> bool:
    """Whether the token limit ended the reply."""
    return reply.stop_reason == _CUT_OFF


def whole_reply(reply: ChatReply) -> str:
    """The text of a reply. Raises LLMResponseParseError when the token limit cut it off.

    A cut object can often be repaired into a shorter one, which would be mistaken for the complete answer.
    """
    if is_cut_off(reply):
        tokens = f" after {reply.reply_tokens} tokens" if reply.reply_tokens is not None else ""
        raise LLMResponseParseError(reply.text, f"it was cut off at the token limit{tokens}; raise max_tokens")
    return reply.text
