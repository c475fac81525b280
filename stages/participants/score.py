"""Stage `score`: a language model scores the eight items, and is asked again if its reply cannot be used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schemas.errors import LLMResponseParseError, ScoringRetriesExhausted, ScoringSchemaError
from schemas.values.chat import ChatCall, ChatReply, Message
from schemas.values.participants import AssembledPrompt, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import Consistency, ItemAnswer, ItemScore, NAReason, ParticipantScores, ReaskReason
from stages.participants.score_prompt import SeverityMode
from stages.participants.score_reply import ParsedScores, object_text, parse_scores
from stages.participants.score_schema import score_json_schema
from stages.participants.totals import totals_of
from stages.ports import ChatModel
from stages.replies.whole_reply import is_cut_off, whole_reply

TOP_LOGPROBS = 5
"""The number of likeliest tokens for token signals (Spec 051)."""


@dataclass(frozen=True, kw_only=True)
class ScoringPlan:
    """The model that scores, and its options."""

    model: str
    timeout_s: float
    temperature: float
    retries: int
    """Re-asks per call, 0..10."""
    hold_to_schema: bool
    """Have the server enforce the schema; the model then cannot reason before it answers."""
    max_text_chars: int | None
    """The largest length of each evidence and each reason in the schema."""
    severity_mode: SeverityMode
    """That of the assembled prompt."""
    track_na_reasons: bool
    token_signals: bool
    """Request the log-probabilities for token signals."""


class UsableReply(NamedTuple):
    """A reply whose answers can be used, and the reasons for the re-asks before it."""

    reply: ChatReply
    parsed: ParsedScores
    reasks: tuple[ReaskReason, ...]


async def score_participant(
    prompt: AssembledPrompt, *, extracted: ExtractedEvidence, chat: ChatModel, plan: ScoringPlan
) -> ParticipantScores:
    """The scores of one participant by one reply.

    Raises ScoringRetriesExhausted after the last re-ask, and the errors of the model's client unchanged. Without
    re-asks, the error of the one reply is raised unchanged: LLMResponseParseError or ScoringSchemaError.
    """
    usable = await ask_until_usable(scoring_call(prompt, plan=plan), chat=chat, plan=plan)
    items = {
        item: item_score(item, answer, prompt=prompt, extracted=extracted, plan=plan, reply=usable.reply)
        for item, answer in usable.parsed.answers.items()
    }
    return ParticipantScores(
        model=plan.model,
        model_digest=usable.reply.digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
        reasks=usable.reasks,
        repairs=usable.parsed.repairs,
    )


def scoring_call(prompt: AssembledPrompt, *, plan: ScoringPlan, sample: int = 0) -> ChatCall:
    """The call that scores a participant."""
    schema = score_json_schema(plan.severity_mode, max_text_chars=plan.max_text_chars)
    return ChatCall(
        model=plan.model,
        messages=prompt.messages,
        temperature=plan.temperature,
        json_schema=schema if plan.hold_to_schema else None,
        sample=sample,
        top_logprobs=TOP_LOGPROBS if plan.token_signals else 0,
        timeout_s=plan.timeout_s,
        purpose=f"score sample {sample + 1}" if sample else "score",
    )


async def ask_until_usable(call: ChatCall, *, chat: ChatModel, plan: ScoringPlan) -> UsableReply:
    """Ask; while the reply cannot be used, send the model the error and ask again, up to `plan.retries` times.

    Each call has the whole exchange, so that no two calls are equal and none is answered from the ledger.
    """
    reasks: list[ReaskReason] = []
    asked = call
    while True:
        reply = await chat.chat(asked)
        try:
            parsed = parse_scores(whole_reply(reply), severity_mode=plan.severity_mode)
        except LLMResponseParseError as error:
            if not plan.retries:
                raise
            if len(reasks) == plan.retries:
                raise ScoringRetriesExhausted(reply.text, error.parse_error, plan.retries) from error
            reasks.append(reask_reason(reply, error))
            purpose = f"{call.purpose}, re-ask {len(reasks)}"
            messages = (*asked.messages, *reask_messages(reply, error))
            asked = asked.model_copy(update={"messages": messages, "purpose": purpose})
        else:
            return UsableReply(reply, parsed, tuple(reasks))


def reask_reason(reply: ChatReply, error: LLMResponseParseError) -> ReaskReason:
    """The reason that a re-ask is counted under."""
    if isinstance(error, ScoringSchemaError):
        return ReaskReason.SCHEMA_VALIDATION
    if is_cut_off(reply):
        return ReaskReason.CUT_OFF
    return ReaskReason.MISSING_STRUCTURE if object_text(reply.text) is None else ReaskReason.JSON_PARSE


def reask_messages(reply: ChatReply, error: LLMResponseParseError) -> tuple[Message, ...]:
    """The unchanged reply, and its error."""
    shorter = " Think in fewer words." if is_cut_off(reply) else ""
    request = (
        f"This answer cannot be used: {error.parse_error}.{shorter} "
        f"Give it again, whole and corrected: one JSON object with all eight keys, inside <answer> tags."
    )
    return Message(role="assistant", content=reply.text), Message(role="user", content=request)


def item_score(
    item: PHQ8Item,
    answer: ItemAnswer,
    *,
    prompt: AssembledPrompt,
    extracted: ExtractedEvidence,
    plan: ScoringPlan,
    reply: ChatReply,
    consistency: Mapping[PHQ8Item, Consistency] | None = None,
) -> ItemScore:
    """The record of one item: the model's answer and its signals."""
    quotes = extracted.quotes.get(item, ())
    na_reason = NAReason.SCORE_NA_WITH_EVIDENCE if quotes else NAReason.NO_MENTION
    return ItemScore(
        **answer.model_dump(),
        na_reason=na_reason if answer.score is None and plan.track_na_reasons else None,
        evidence_source=extracted.extractor if quotes else None,
        evidence_count=len(quotes),
        retrieval=prompt.statistics[item],
        tokens=reply.tokens,
        consistency=consistency[item] if consistency else None,
    )
