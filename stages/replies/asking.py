"""Asking a model until its reply can be used."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from schemas.errors import (
    EvidenceGroundingError,
    EvidenceSchemaError,
    LLMResponseParseError,
    ReplyShapeError,
    UnusableReply,
)
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall, ChatReply, Message, ReaskReason
from schemas.values.participants import Decision, Verdict
from stages.ports import ChatModel, Deferred
from stages.replies.parsing import closed_object, parse_strict


def messages_of(system: str, user: str) -> tuple[Message, ...]:
    """The messages that a model is sent: what it is to do in general, and with what."""
    return Message(role="system", content=system), Message(role="user", content=user)


def is_cut_off(reply: ChatReply) -> bool:
    """Whether the token limit ended the reply."""
    return reply.stop_reason == "length"


def whole_reply(reply: ChatReply, *, token_setting: str | None) -> str:
    """The text of a reply. Raises LLMResponseParseError when the token limit, which `token_setting` sets, cut it off: a
    cut object can often be repaired into a shorter one, which would be mistaken for the complete answer."""
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
    Each call has the whole exchange, so that none is answered from the ledger. Replies that an earlier attempt rejected
    cost nothing and do not count; after them the model is asked once more at least. Raises the error of the last reply,
    with the number of calls, and the errors of the model's client unchanged.
    """
    reasks: list[ReaskReason] = []
    remaining = retries + 1
    asked = call
    while True:
        reply = await chat.chat(asked)
        if reply.is_rejected:
            remaining = max(retries, 1)
        try:
            found = read(whole_reply(reply, token_setting=token_setting))
            return UsableReply(reply=reply, read=found, reasks=tuple(reasks))
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
    if isinstance(error, EvidenceSchemaError | ReplyShapeError):
        return ReaskReason.SCHEMA_VALIDATION
    if is_cut_off(reply):
        return ReaskReason.CUT_OFF
    return ReaskReason.JSON_PARSE if "{" in reply.text else ReaskReason.MISSING_STRUCTURE


def _correction(reply: ChatReply, error: UnusableReply, form: str) -> tuple[Message, ...]:
    shorter = " Think in fewer words." if is_cut_off(reply) else ""
    request = f"This answer cannot be used: {error.problem}.{shorter} Give it again, whole and corrected: {form}."
    return Message(role="assistant", content=reply.text), Message(role="user", content=request)


class Chunk(Protocol):
    """A candidate, which is a chunk."""

    @property
    def chunk_id(self) -> int: ...


Candidate = TypeVar("Candidate", bound=Chunk)


async def decide(
    candidates: Sequence[Candidate], *, ask: Callable[[int, Candidate], Awaitable[Decision]], enough: int | None
) -> tuple[tuple[Candidate, ...], tuple[Verdict, ...]]:
    """Ask about the candidates in order, until `enough` are accepted; None asks about all. Ranks count from 1. Raises
    Deferred when a decision comes later, once those are asked for that are needed even if it accepts."""
    accepted: list[Candidate] = []
    verdicts: list[Verdict] = []
    deferred: list[Deferred] = []
    for rank, candidate in enumerate(candidates, start=1):
        if len(accepted) + len(deferred) == enough:
            break
        try:
            decision = await ask(rank, candidate)
        except Deferred as later:
            deferred.append(later)
            continue
        verdicts.append(Verdict(rank=rank, chunk_id=candidate.chunk_id, decision=decision))
        if decision is Decision.ACCEPT:
            accepted.append(candidate)
    if deferred:
        raise deferred[0]
    return tuple(accepted), tuple(verdicts)


VERDICT_JSON_SCHEMA: Final = closed_object(
    {"decision": {"type": "string", "enum": [decision.value for decision in Decision]}}
)


async def ask_verdict(
    messages: tuple[Message, ...], *, purpose: str, chat: ChatModel, model: str, settings: RunSettings
) -> UsableReply[Decision]:
    """Ask a validator at temperature 0, again while its reply is not exactly one verdict."""
    call = ChatCall(
        model=model,
        messages=messages,
        json_mode=True,
        json_schema=VERDICT_JSON_SCHEMA,
        max_tokens=settings.ragq.verdict_max_tokens,
        timeout_s=settings.ollama.timeout_seconds,
        purpose=purpose,
    )
    return await ask_until_usable(
        call,
        chat=chat,
        read=decision_of,
        form='one JSON object with "decision" alone, which is accept, reject or unsure',
        retries=settings.ragq.reply_retries,
        token_setting="RAGQ_VERDICT_MAX_TOKENS",
    )


def decision_of(raw: str) -> Decision:
    """The decision in a reply. Only strict JSON is accepted: a repaired verdict would be a guess.

    >>> decision_of('{"decision": "reject"}').value
    'reject'
    """
    decision = parse_strict(raw).get("decision")
    if not isinstance(decision, str) or decision not in set(Decision):
        found = "has no text 'decision'" if not isinstance(decision, str) else "has another 'decision'"
        raise LLMResponseParseError(raw, f"the object {found}; expected one of {', '.join(Decision)}")
    return Decision(decision)
