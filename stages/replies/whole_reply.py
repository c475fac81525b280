"""Replies that were not cut off."""

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatReply

_CUT_OFF = "length"


def is_cut_off(reply: ChatReply) -> bool:
    """Whether the token limit ended the reply."""
    return reply.stop_reason == _CUT_OFF


def whole_reply(reply: ChatReply, *, token_setting: str | None) -> str:
    """The text of a reply. Raises LLMResponseParseError when the token limit cut it off.

    A cut object can often be repaired into a shorter one, which would be mistaken for the complete answer. The error
    names the setting of the limit; None if the server alone sets it.
    """
    if is_cut_off(reply):
        tokens = f" after {reply.reply_tokens} tokens" if reply.reply_tokens is not None else ""
        remedy = f"raise {token_setting}" if token_setting else "use a model or a server with a longer context"
        raise LLMResponseParseError(reply.text, f"it was cut off at the token limit{tokens}; {remedy}")
    return reply.text
