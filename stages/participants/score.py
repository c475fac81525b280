"""Stage `score`: a language model scores the eight items, and is asked again when its answer cannot be used."""

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
"""The likeliest tokens that token signals look at (Spec 051)."""


@dataclass(frozen=True, kw_only=True)
class ScoringPlan:
    """Who scores, and how."""

    model: str
    timeout_s: float
    temperature: float
    retries: int
    """Re-asks per call, 0..10."""
    hold_to_schema: bool
    """Have the server hold the reply to the schema; the model then cannot think aloud before it answers."""
    max_text_chars: int | None
    """How long the schema lets each evidence and each reason get."""
    severity_mode: SeverityMode
    """The one that the prompt was assembled with."""
    track_na_reasons: bool
    token_signals: bool
    """Ask for the log-probabilities that token signals are made of."""


class UsableReply(NamedTuple):
    """A reply whose answers can be used, and why the replies before it could not."""

    reply: ChatReply
    parsed: ParsedScores
    reasks: tuple[ReaskReason, ...]


async def score_participant(
    prompt: AssembledPrompt, *, extracted: ExtractedEvidence, chat: ChatModel, plan: ScoringPlan
) -> ParticipantScores:
    """The scores of one participant by one reply.

    Raises ScoringRetriesExhausted when the re-asks ran out, and what the model's client raises, as it is. With no
    re-ask allowed, the error of the one reply comes as it is: LLMResponseParseError or ScoringSchemaError.
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
    """Ask; while the reply cannot be used, tell the model what is wrong with it and ask again, `plan.retries` times.

    The whole exchange is shown each time, so that no two calls are the same and none is answered from memory.
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
    """Under which word a re-ask is counted."""
    if isinstance(error, ScoringSchemaError):
        return ReaskReason.SCHEMA_VALIDATION
    if is_cut_off(reply):
        return ReaskReason.CUT_OFF
    return ReaskReason.MISSING_STRUCTURE if object_text(reply.text) is None else ReaskReason.JSON_PARSE


def reask_messages(reply: ChatReply, error: LLMResponseParseError) -> tuple[Message, ...]:
    """The reply as it was, and what is wrong with it."""
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
    """The record of one item: what the model said, and the signals around it."""
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
