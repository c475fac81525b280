"""Calls that ask a model about the headings of a document, some at a time."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, TypeVar

from schemas.values.chat import ChatCall, Message
from stages.documents.heading_reply import SYSTEM
from stages.ports import ChatModel
from stages.replies.asking import ReplyReader, UsableReply, ask_until_usable

Asked = TypeVar("Asked")
Read = TypeVar("Read")


class Asking(NamedTuple):
    """What the calls of a stage have in common."""

    template: str
    model: str
    timeout_s: float
    max_tokens: int | None
    retries: int
    """Re-asks per call."""


async def ask_in_parts(
    headings: Sequence[Asked],
    asking: Asking,
    *,
    chat: ChatModel,
    most: int,
    purpose: str,
    prompt: Callable[[Sequence[Asked]], str],
    read: Callable[[Sequence[Asked]], Callable[[str], Read]],
    form: str,
) -> AsyncIterator[UsableReply[Read]]:
    """The replies about `most` headings each, in order; one that cannot be used is asked for again.

    `prompt` of a part is called after the reply about the part before it was taken. Raises HeadingReplyError or another
    LLMResponseParseError after the last re-ask, and the errors of the model's client unchanged.
    """
    for first in range(0, len(headings), most):
        part = headings[first : first + most]
        call = ChatCall(
            model=asking.model,
            messages=(Message(role="system", content=SYSTEM), Message(role="user", content=prompt(part))),
            max_tokens=asking.max_tokens,
            timeout_s=asking.timeout_s,
            purpose=f"{purpose} {first + 1} to {first + len(part)}",
        )
        reader = ReplyReader(
            read=read(part), form=form, retries=asking.retries, token_setting="RAGQ_DOCUMENT_MAX_TOKENS"
        )
        yield await ask_until_usable(call, chat=chat, reader=reader)
