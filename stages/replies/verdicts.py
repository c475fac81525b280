"""Verdicts of a language model on one candidate after another."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from schemas.errors import LLMResponseParseError
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall, Message
from schemas.values.participants import Decision, Verdict
from stages.ports import ChatModel, Deferred
from stages.replies.asking import UsableReply, ask_until_usable
from stages.replies.strict import closed_object, parse_strict


class Chunk(Protocol):
    """A candidate, which is a chunk."""

    @property
    def chunk_id(self) -> int: ...


Candidate = TypeVar("Candidate", bound=Chunk)

Decided = tuple[tuple[Candidate, ...], tuple[Verdict, ...]]
"""The accepted candidates, and all verdicts, by rank."""


async def decide(
    candidates: Sequence[Candidate], *, ask: Callable[[int, Candidate], Awaitable[Decision]], enough: int | None
) -> Decided[Candidate]:
    """Ask about the candidates in order, until `enough` are accepted; None asks about all. Ranks count from 1.

    Raises Deferred when a decision comes later, once those are asked for that are needed even if it accepts.
    """
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


VERDICT_JSON_SCHEMA: Mapping[str, object] = closed_object(
    {"decision": {"type": "string", "enum": [decision.value for decision in Decision]}}
)


async def ask_verdict(
    messages: tuple[Message, ...], *, purpose: str, chat: ChatModel, model: str, settings: RunSettings
) -> UsableReply[Decision]:
    """Ask a validator at temperature 0, again while its reply is not exactly one verdict.

    Raises LLMResponseParseError after the last re-ask, and the errors of the model's client unchanged.
    """
    call = ChatCall(
        model=model,
        messages=messages,
        json_mode=True,
        json_schema=dict(VERDICT_JSON_SCHEMA),
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
