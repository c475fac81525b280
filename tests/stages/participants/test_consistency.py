"""Scoring by several samples (Spec 050)."""

from dataclasses import replace

import pytest

from schemas.errors import ScoringRetriesExhausted
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ParticipantScores
from stages.participants.consistency import chosen_sample, consistency_of
from stages.participants.score import ScoringPlan
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import assemble_prompt, score_by_consistency, scoring_plan
from tests.stages.participants.builders import evidence
from tests.stages.participants.score_replies import ANSWER, reply_of

PROMPT = assemble_prompt("Participant: I sleep badly", {}, {})
PLAN = scoring_plan(model="scorer", timeout_s=9, retries=0)
UNUSABLE = "I can't."


async def score(chat: ScriptedChat, samples: int, plan: ScoringPlan = PLAN) -> ParticipantScores:
    return await score_by_consistency(PROMPT, extracted=evidence({}), chat=chat, plan=plan, samples=samples)


def replying(*replies: str) -> ScriptedChat:
    remaining = iter(replies)
    return ScriptedChat(lambda call: next(remaining))


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


async def test_every_sample_is_a_call_of_its_own_number_at_the_temperature() -> None:
    chat = replying(*[reply_of()] * 3)

    await score(chat, samples=3)

    assert [(call.sample, call.temperature, call.purpose) for call in chat.calls] == [
        (0, 0.2, "score"),
        (1, 0.2, "score sample 2"),
        (2, 0.2, "score sample 3"),
    ]


async def test_an_item_is_recorded_by_the_first_sample_with_its_modal_score() -> None:
    low = ANSWER | {"score": 1, "reason": "low"}
    high = [ANSWER | {"score": 3, "reason": f"high {number}"} for number in (1, 2)]
    chat = replying(*[reply_of({PHQ8Item.SLEEP: answer}) for answer in (low, *high)])

    scores = await score(chat, samples=3)

    sleep = scores.items[PHQ8Item.SLEEP]
    assert (sleep.score, sleep.reason) == (3, "high 1")
    assert sleep.consistency == consistency_of([1, 3, 3])
    assert scores.items[PHQ8Item.TIRED].consistency == consistency_of([2, 2, 2])
    assert scores.totals.minimum == 7 * 2 + 3


async def test_unusable_samples_are_replaced_and_counted() -> None:
    chat = replying(UNUSABLE, reply_of(), UNUSABLE, reply_of())

    scores = await score(chat, samples=2)

    assert (scores.failed_samples, [call.sample for call in chat.calls]) == (2, [0, 1, 2, 3])
    assert scores.items[PHQ8Item.SLEEP].consistency == consistency_of([2, 2])


async def test_without_any_usable_sample_the_last_error_is_raised() -> None:
    chat = ScriptedChat(lambda call: f"{UNUSABLE} {call.sample}")

    with pytest.raises(ScoringRetriesExhausted) as caught:
        await score(chat, samples=2, plan=replace(PLAN, retries=1))

    assert (len(chat.calls), caught.value.raw_response) == (2 * 2 * 2, f"{UNUSABLE} 3")
