"""Stage `score`: a language model scores the eight items, and is asked again if its reply cannot be used."""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.errors import LLMResponseParseError, ScoringRetriesExhausted
from schemas.values.chat import ChatCall, ChatReply
from schemas.values.participants import AssembledPrompt, ExtractedEvidence, PHQ8Item
from schemas.values.scoring import Consistency, ItemAnswer, ItemScore, NAReason, ParticipantScores
from stages.participants.score_prompt import SeverityMode
from stages.participants.score_reply import (
    ParsedScores,
    evidence_json_schema,
    parse_scores,
    score_json_schema,
    totals_of,
)
from stages.ports import ChatModel
from stages.replies.asking import ReplyReader, UsableReply, ask_until_usable

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
    passages: Mapping[PHQ8Item, str] | None
    """Those that the prompt shows instead of the transcript; None if it shows that."""
    track_na_reasons: bool
    token_signals: bool
    """Request the log-probabilities for token signals."""


async def score_participant(
    prompt: AssembledPrompt, *, extracted: ExtractedEvidence, chat: ChatModel, plan: ScoringPlan
) -> ParticipantScores:
    """The scores of one participant by one reply.

    Raises ScoringRetriesExhausted after the last re-ask, and the errors of the model's client unchanged. Without
    re-asks, the error of the one reply is raised unchanged: LLMResponseParseError or ScoringSchemaError.
    """
    usable = await ask_for_scores(scoring_call(prompt, plan=plan), chat=chat, plan=plan)
    items = {
        item: item_score(item, answer, prompt=prompt, extracted=extracted, plan=plan, reply=usable.reply)
        for item, answer in usable.read.answers.items()
    }
    return ParticipantScores(
        model=plan.model,
        model_digest=usable.reply.digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
        reasks=usable.reasks,
        repairs=usable.read.repairs,
    )


def scoring_call(prompt: AssembledPrompt, *, plan: ScoringPlan, sample: int = 0) -> ChatCall:
    """The call that scores a participant."""
    if plan.passages is None:
        schema = score_json_schema(plan.severity_mode, max_text_chars=plan.max_text_chars)
    else:
        schema = evidence_json_schema(plan.passages, max_text_chars=plan.max_text_chars)
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


async def ask_for_scores(call: ChatCall, *, chat: ChatModel, plan: ScoringPlan) -> UsableReply[ParsedScores]:
    """The first reply whose scores can be used. Raises as `score_participant` does."""
    reader = ReplyReader(
        read=lambda text: parse_scores(text, severity_mode=plan.severity_mode),
        form="one JSON object with all eight keys, inside <answer> tags",
        retries=plan.retries,
    )
    try:
        return await ask_until_usable(call, chat=chat, reader=reader)
    except LLMResponseParseError as error:
        if not plan.retries:
            raise
        raise ScoringRetriesExhausted(error.raw_response, error.parse_error, error.calls - 1) from error


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
