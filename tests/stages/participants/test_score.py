"""Scores by a model, once or by several samples."""

from collections.abc import Mapping

import pytest

from schemas.errors import FailureCategory, LLMResponseParseError
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall, ReaskReason, TokenSignals
from schemas.values.participants import EvidenceExtractor, PHQ8Item
from schemas.values.scoring import ItemScore, NAReason, ParticipantScores
from stages.participants.score import chosen_sample, consistency_of, score_participant
from stages.participants.score_reply import totals_of
from tests.fakes.chat import ScriptedChat, replying
from tests.refusals import failing
from tests.stages.at_defaults import assemble_prompt, settings
from tests.stages.participants.builders import evidence, reference
from tests.stages.participants.score_replies import ANSWER, reply_of

PROMPT = assemble_prompt("Participant: I sleep badly", {PHQ8Item.SLEEP: (reference("chunk"),)}, {1: "chunk"})
EVIDENCE = evidence({PHQ8Item.SLEEP: ("I sleep badly", "badly"), PHQ8Item.TIRED: ("tired",)})


def scorer(consistency: Mapping[str, object] | None = None, **groups: Mapping[str, object]) -> RunSettings:
    return settings(model={"quantitative_model": "scorer", "temperature": 0.5}, consistency=consistency or {}, **groups)


async def score(chat: ScriptedChat, run: RunSettings | None = None) -> ParticipantScores:
    return await score_participant(PROMPT, extracted=EVIDENCE, chat=chat, settings=run or scorer(), passages=None)


async def test_one_reply_gives_the_record_of_all_items() -> None:
    unscored = ANSWER | {"score": "N/A", "confidence": None}
    chat = replying(reply_of({PHQ8Item.TIRED: unscored, PHQ8Item.MOVING: unscored}))
    chat.tokens = TokenSignals(msp=0.9, pe=0.5, energy=-0.1)

    scores = await score(chat)

    assert chat.calls == [
        ChatCall(
            model="scorer", messages=PROMPT.messages, temperature=0.5, top_logprobs=5, timeout_s=600, purpose="score"
        )
    ]
    plain = ItemScore(evidence="so I said", reason="often", tokens=chat.tokens, score=2, confidence=4)
    without_score = plain.model_copy(update={"score": None, "confidence": None, "na_reason": NAReason.NO_MENTION})
    from_model = {"evidence_source": EvidenceExtractor.LLM}
    items = dict.fromkeys(PHQ8Item, plain) | {
        PHQ8Item.SLEEP: plain.model_copy(
            update=from_model | {"evidence_count": 2, "retrieval": PROMPT.statistics[PHQ8Item.SLEEP]}
        ),
        PHQ8Item.TIRED: without_score.model_copy(
            update=from_model | {"evidence_count": 1, "na_reason": NAReason.SCORE_NA_WITH_EVIDENCE}
        ),
        PHQ8Item.MOVING: without_score,
    }
    assert scores == ParticipantScores(
        model="scorer", model_digest="digest of scorer", items=items, totals=totals_of([2] * 6 + [None] * 2)
    )
    assert "so I said" not in repr(scores) and "often" not in repr(scores)


async def test_unusable_replies_are_sent_back_with_what_is_wrong() -> None:
    chat = replying("I can't.", "{" + "[" * 100_000, reply_of({PHQ8Item.SLEEP: {}}), reply_of())

    scores = await score(chat)

    assert scores.reasks == (ReaskReason.MISSING_STRUCTURE, ReaskReason.JSON_PARSE, ReaskReason.SCHEMA_VALIDATION)
    assert "there is no JSON object in it" in chat.calls[1].messages[-1].content
    assert "PHQ8_Sleep.score: missing" in chat.calls[3].messages[-1].content


async def test_exhausted_retries_raise_the_last_reply_and_show_nothing_of_it() -> None:
    chat = ScriptedChat(lambda call: f"secret {len(call.messages)}")

    with failing(FailureCategory.SCORING_RETRY_EXHAUSTED) as caught:
        await score(chat, scorer(pydantic_ai={"retries": 5}))

    assert len(chat.calls) == 6
    assert isinstance(caught.value, LLMResponseParseError) and caught.value.raw_response == "secret 12"
    assert "secret" not in str(caught.value)


UNUSABLE = "I can't."


async def most_frequent_score(chat: ScriptedChat, samples: int, retries: int = 0) -> ParticipantScores:
    return await score(chat, scorer({"enabled": True, "n_samples": samples}, pydantic_ai={"retries": retries}))


@pytest.mark.parametrize(
    ("samples", "modal", "count", "std", "na_rate", "chosen"),
    [
        ([2, 2, 1, 2, 2], 2, 4, 0.4, 0.0, 0),  # variance 4/5 x 1/5
        ([1, 2, 2], 2, 2, (2 / 9) ** 0.5, 0.0, 1),  # the first sample with the modal score
        ([1, 2], 1, 1, 0.5, 0.0, 0),  # of equally many the smallest
        ([2, 1], 1, 1, 0.5, 0.0, 1),  # one half is enough to choose by
        ([3, None], None, 1, 0.0, 0.5, 1),  # N/A goes before numbers
        ([None, None, 0], None, 2, 0.0, 2 / 3, 0),
        ([3, 2, 1, 0, None], None, 1, 1.25**0.5, 0.2, 0),  # too few agree: the first sample
        ([3, 1, 1, 0, 2], 1, 2, 1.04**0.5, 0.0, 0),
        ([None], None, 1, 0.0, 1.0, 0),
        ([2], 2, 1, 0.0, 0.0, 0),
    ],
)
def test_the_agreement_of_a_worked_example(
    samples: list[int | None], modal: int | None, count: int, std: float, na_rate: float, chosen: int
) -> None:
    found = consistency_of(samples)

    assert found.model_dump() == {
        "samples": tuple(samples),
        "modal_score": modal,
        "modal_count": count,
        "modal_confidence": count / len(samples),
        "score_std": pytest.approx(std),
        "na_rate": na_rate,
    }
    assert chosen_sample(found) == chosen


async def test_an_item_is_recorded_by_the_first_sample_with_its_modal_score() -> None:
    low = ANSWER | {"score": 1, "reason": "low"}
    high = [ANSWER | {"score": 3, "reason": f"high {number}"} for number in (1, 2)]
    chat = replying(*[reply_of({PHQ8Item.SLEEP: answer}) for answer in (low, *high)])

    scores = await most_frequent_score(chat, samples=3)

    assert [(call.sample, call.temperature, call.purpose) for call in chat.calls] == [
        (0, 0.2, "score"),
        (1, 0.2, "score sample 2"),
        (2, 0.2, "score sample 3"),
    ]
    sleep = scores.items[PHQ8Item.SLEEP]
    assert (sleep.score, sleep.reason) == (3, "high 1")
    assert sleep.consistency == consistency_of([1, 3, 3])
    assert scores.items[PHQ8Item.TIRED].consistency == consistency_of([2, 2, 2])
    assert scores.totals.minimum == 7 * 2 + 3


async def test_unusable_samples_are_replaced_and_counted() -> None:
    chat = replying(UNUSABLE, reply_of(), UNUSABLE, reply_of())

    scores = await most_frequent_score(chat, samples=2)

    assert (scores.failed_samples, [call.sample for call in chat.calls]) == (2, [0, 1, 2, 3])
    assert scores.items[PHQ8Item.SLEEP].consistency == consistency_of([2, 2])


async def test_without_any_usable_sample_the_last_error_is_raised() -> None:
    chat = ScriptedChat(lambda call: f"{UNUSABLE} {call.sample}")

    with pytest.raises(LLMResponseParseError) as caught:
        await most_frequent_score(chat, samples=2, retries=1)

    assert (len(chat.calls), caught.value.raw_response) == (2 * 2 * 2, f"{UNUSABLE} 3")
