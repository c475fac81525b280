"""Stage `score`."""

from dataclasses import replace

import pytest

from schemas.errors import LLMError, LLMResponseParseError, LLMTimeoutError, ScoringRetriesExhausted
from schemas.values.chat import ChatCall, Message, ReaskReason, TokenSignals
from schemas.values.participants import AssembledPrompt, EvidenceExtractor, PHQ8Item
from schemas.values.scoring import ItemScore, NAReason, ParticipantScores
from stages.failures import FailureCategory, categorise
from stages.participants.score import ScoringPlan, score_participant
from stages.participants.score_reply import totals_of
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import assemble_prompt, scoring_plan
from tests.stages.participants.builders import evidence, reference
from tests.stages.participants.score_replies import ANSWER, reply_of

PROMPT = assemble_prompt("Participant: I sleep badly", {PHQ8Item.SLEEP: (reference("chunk"),)}, {1: "chunk"})
EVIDENCE = evidence({PHQ8Item.SLEEP: ("I sleep badly", "badly"), PHQ8Item.TIRED: ("tired",)})
PLAN = scoring_plan(model="scorer", timeout_s=9)


def replying(*replies: str, stop_reason: str = "stop") -> ScriptedChat:
    remaining = iter(replies)
    return ScriptedChat(lambda call: next(remaining), stop_reason=stop_reason)


async def score(chat: ScriptedChat, plan: ScoringPlan = PLAN, prompt: AssembledPrompt = PROMPT) -> ParticipantScores:
    return await score_participant(prompt, extracted=EVIDENCE, chat=chat, plan=plan)


async def test_one_reply_gives_the_record_of_all_items() -> None:
    unscored = ANSWER | {"score": "N/A", "confidence": None}

    scores = await score(replying(reply_of({PHQ8Item.TIRED: unscored, PHQ8Item.MOVING: unscored})))

    fields = {"evidence": "so I said", "reason": "often"}
    plain = ItemScore(**fields, score=2, confidence=4)
    llm = EvidenceExtractor.LLM
    assert scores == ParticipantScores(
        model="scorer",
        model_digest="digest of scorer",
        items=dict.fromkeys(PHQ8Item, plain)
        | {
            PHQ8Item.SLEEP: plain.model_copy(
                update={"evidence_source": llm, "evidence_count": 2, "retrieval": PROMPT.statistics[PHQ8Item.SLEEP]}
            ),
            PHQ8Item.TIRED: ItemScore(
                **fields, na_reason=NAReason.SCORE_NA_WITH_EVIDENCE, evidence_source=llm, evidence_count=1
            ),
            PHQ8Item.MOVING: ItemScore(**fields, na_reason=NAReason.NO_MENTION),
        },
        totals=totals_of([2] * 6 + [None] * 2),
    )


async def test_the_call_is_the_assembled_prompt() -> None:
    chat = replying(reply_of())

    await score(chat, replace(PLAN, temperature=0.5))

    assert chat.calls == [
        ChatCall(
            model="scorer", messages=PROMPT.messages, temperature=0.5, top_logprobs=5, timeout_s=9, purpose="score"
        )
    ]


async def test_every_item_has_the_token_signals_of_the_reply_when_asked_for() -> None:
    chat = replying(reply_of({}))
    chat.tokens = TokenSignals(msp=0.9, pe=0.5, energy=-0.1)

    scores = await score(chat, replace(PLAN, token_signals=True))

    assert [call.top_logprobs for call in chat.calls] == [5]
    assert [item.tokens for item in scores.items.values()] == [chat.tokens] * 8


@pytest.mark.parametrize(
    ("unusable", "reason", "problem"),
    [
        ("I can't.", ReaskReason.MISSING_STRUCTURE, "there is no JSON object in it"),
        ("{" + "[" * 100_000, ReaskReason.JSON_PARSE, ""),
        (reply_of({PHQ8Item.SLEEP: {}}), ReaskReason.SCHEMA_VALIDATION, "PHQ8_Sleep.score: missing"),
    ],
)
async def test_an_unusable_reply_is_sent_back_with_what_is_wrong(
    unusable: str, reason: ReaskReason, problem: str
) -> None:
    chat = replying(unusable, unusable, reply_of())

    scores = await score(chat)

    assert scores.reasks == (reason, reason)
    assert [call.purpose for call in chat.calls] == ["score", "score, re-ask 1", "score, re-ask 2"]
    *exchange, request = chat.calls[1].messages
    assert exchange == [*PROMPT.messages, Message(role="assistant", content=unusable)]
    assert request.role == "user" and problem in request.content
    assert len(chat.calls[2].messages) == len(PROMPT.messages) + 4


async def test_a_reply_that_was_cut_off_is_asked_for_again() -> None:
    with pytest.raises(ScoringRetriesExhausted, match="2 retries did not help; the last time it was cut off") as caught:
        await score(replying(*[reply_of()] * 3, stop_reason="length"), replace(PLAN, retries=2))

    assert isinstance(caught.value.__cause__, LLMResponseParseError)


@pytest.mark.parametrize("retries", [1, 5, 10])
async def test_exhausted_retries_raise_the_last_reply_and_show_nothing_of_it(retries: int) -> None:
    chat = ScriptedChat(lambda call: f"secret {len(call.messages)}")

    with pytest.raises(ScoringRetriesExhausted) as caught:
        await score(chat, replace(PLAN, retries=retries))

    assert len(chat.calls) == retries + 1
    assert caught.value.raw_response == f"secret {2 + 2 * retries}"
    assert "secret" not in str(caught.value)
    assert categorise(caught.value, "score") is FailureCategory.SCORING_RETRY_EXHAUSTED


@pytest.mark.parametrize("error", [LLMTimeoutError(9), LLMError("no such model"), ConnectionResetError("gone")])
async def test_errors_of_the_client_are_passed_on_and_not_asked_again(error: Exception) -> None:
    def fail(call: ChatCall) -> str:
        raise error

    chat = ScriptedChat(fail)

    with pytest.raises(type(error)) as caught:
        await score(chat)

    assert (caught.value, len(chat.calls)) == (error, 1)


async def test_no_repr_shows_what_the_model_wrote() -> None:
    scores = await score(replying(reply_of(inference_marker="so I said")), replace(PLAN, severity_mode="infer"))

    assert "so I said" not in repr(scores) and "often" not in repr(scores)
