"""Asking a model until its reply can be used."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from schemas.errors import (
    EvidenceGroundingError,
    EvidenceSchemaError,
    HeadingReplyError,
    LLMResponseParseError,
    ScoringSchemaError,
    UnusableReply,
)
from schemas.values.chat import ChatCall, ChatReply, Message, ReaskReason
from stages.ports import ChatModel

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


Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class UsableReply(Generic[Read]):
    """A reply, what it gave, and the reasons for the re-asks before it."""

    reply: ChatReply
    read: Read
    reasks: tuple[ReaskReason, ...]


async def ask_until_usable(
    call: ChatCall,
    *,
    chat: ChatModel,
    read: Callable[[str], Read],
    form: str,
    retries: int,
    token_setting: str | None = None,
) -> UsableReply[Read]:
    """Ask; while the reply cannot be used, send the model the error and ask again, up to `retries` times.

    `read` gives what a whole reply holds, or raises UnusableReply. `form` is what a re-ask requests, such as `one JSON
    object with all eight keys`, and `token_setting` the setting of the token limit; None if the server alone sets it.

    Each call has the whole exchange, so that no two calls are equal and none is answered from the ledger. Replies that
    an earlier attempt rejected cost nothing and do not count; after them the model is asked once more at least.

    Raises the error of the last reply, with the number of calls, and the errors of the model's client unchanged.
    """
    reasks: list[ReaskReason] = []
    remaining = retries + 1
    asked = call
    while True:
        reply = await chat.chat(asked)
        if reply.is_rejected:
            remaining = max(retries, 1)
        try:
            return UsableReply(
                reply=reply,
                read=read(whole_reply(reply, token_setting=token_setting)),
                reasks=tuple(reasks),
            )
        except UnusableReply as error:
            remaining -= not reply.is_rejected
            if not remaining:
                error.count_calls(len(reasks) + 1)
                raise
            reasks.append(_reason(reply, error))
            purpose = f"{call.purpose}, re-ask {len(reasks)}"
            messages = (*asked.messages, *_correction(reply, error, form))
            asked = asked.model_copy(update={"messages": messages, "purpose": purpose})


def _reason(reply: ChatReply, error: UnusableReply) -> ReaskReason:
    if isinstance(error, EvidenceGroundingError):
        return ReaskReason.NOT_GROUNDED
    if isinstance(error, EvidenceSchemaError | ScoringSchemaError | HeadingReplyError):
        return ReaskReason.SCHEMA_VALIDATION
    if is_cut_off(reply):
        return ReaskReason.CUT_OFF
    return ReaskReason.JSON_PARSE if "{" in reply.text else ReaskReason.MISSING_STRUCTURE


def _correction(reply: ChatReply, error: UnusableReply, form: str) -> tuple[Message, ...]:
    """The unchanged reply, and its error."""
    shorter = " Think in fewer words." if is_cut_off(reply) else ""
    request = f"This answer cannot be used: {error.problem}.{shorter} Give it again, whole and corrected: {form}."
    return Message(role="assistant", content=reply.text), Message(role="user", content=request)


_FENCED_BLOCK = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_OPENING_FENCES = re.compile(r"(?:```(?:json)?\s*)+", re.IGNORECASE)


def unwrap(reply: str) -> str:
    """The part of a reply that should be JSON.

    The text between the last pair of answer tags if there is one; of that the fenced block if there is one; unclosed
    fences are removed.

    >>> unwrap('Thinking aloud. <answer>```json {"score": 1} ```</answer>')
    '{"score": 1}'
    """
    before_end, end_tag, _ = reply.rpartition("</answer>")
    _, start_tag, answer = before_end.rpartition("<answer>")
    text = answer if start_tag and end_tag else reply
    block = fenced_block(text)
    return _FENCE.sub("", text if block is None else block).strip()


def fenced_block(text: str) -> str | None:
    """What follows the first fence after which an object begins, up to the next fence; else the first fenced block.

    A fence that is opened twice, or an empty block before the object, is skipped. None without a fenced block.

    >>> fenced_block('```json\\n```\\n```json\\n{"score": 1}\\n```').strip()
    '{"score": 1}'
    """
    _, *parts = _FENCE.split(text)
    objects = (part for part in parts[:-1] if part.lstrip().startswith("{"))
    block = _FENCED_BLOCK.search(text)
    return next(objects, block[1] if block else None)


def strip_whole_fence(reply: str) -> str:
    """The reply without a code fence, or several of them, around all of it."""
    text = reply.strip()
    if not text.endswith("```") or (opening := _OPENING_FENCES.match(text)) is None:
        return text
    return text[opening.end() :].rstrip("` \t\r\n")
