"""Stage `validate` (Specs 36, 38 and 39)."""

import json

import pytest

from schemas.errors import LLMError, LLMResponseParseError, LLMTimeoutError
from schemas.values.chat import ChatCall
from schemas.values.participants import Decision, PHQ8Item, RankedReferences, Reference, ValidatedReferences, Verdict
from stages.participants.validate import keep_all, validate_references, verdict_messages
from tests.data import public_data
from tests.fakes.chat import ScriptedChat, deciding, replying
from tests.stages.at_defaults import settings
from tests.stages.participants.builders import evidence, ranked, reference

TEXTS = {1: "first chunk", 2: "second chunk", 3: "third chunk", 4: "fourth chunk"}
FIRST, SECOND, THIRD, FOURTH = (reference(text, chunk_id=chunk_id) for chunk_id, text in TEXTS.items())
EVIDENCE = evidence({item: (f"about {item.value}", "and more") for item in PHQ8Item})


def sleep(*references: Reference) -> RankedReferences:
    return ranked({PHQ8Item.SLEEP: references})


async def validate(ranking: RankedReferences, chat: ScriptedChat, max_refs: int = 2) -> ValidatedReferences:
    run = settings(model={"judge_model": "judge"}, embedding={"validation_max_refs_per_item": max_refs})
    return await validate_references(ranking, extracted=EVIDENCE, chunk_texts=TEXTS, chat=chat, settings=run)


def outcome(validated: ValidatedReferences) -> tuple[list[int], str]:
    """The ids of the kept chunks of an item, and the first letter of each verdict."""
    verdicts = "".join(verdict.decision.value[0] for verdict in validated.verdicts.get(PHQ8Item.SLEEP, ()))
    return [kept.chunk_id for kept in validated.items[PHQ8Item.SLEEP]], verdicts


def test_disabled_keeps_all_whatever_their_number() -> None:
    ranking = sleep(FIRST, SECOND, THIRD)

    assert keep_all(ranking) == ValidatedReferences(validator=None, items=ranking.items, verdicts={})


@pytest.mark.parametrize(
    ("decisions", "max_refs", "kept", "asked"),
    [
        (["accept", "accept", "accept"], 3, [1, 2, 3], "aaa"),
        (["reject", "accept", "accept"], 3, [2, 3], "raa"),
        (["unsure", "accept", "reject"], 3, [2], "uar"),  # unsure drops a reference as reject does
        (["accept", "accept"], 2, [1, 2], "aa"),  # the third is not asked about
        (["reject", "accept"], 1, [2], "ra"),
        (["reject", "reject", "unsure"], 2, [], "rru"),
    ],
)
async def test_references_are_walked_in_order_until_enough_are_accepted(
    decisions: list[str], max_refs: int, kept: list[int], asked: str
) -> None:
    chat = deciding(*decisions)

    validated = await validate(sleep(FIRST, SECOND, THIRD), chat, max_refs=max_refs)

    assert (outcome(validated), len(chat.calls)) == ((kept, asked), len(decisions))


async def test_the_cap_holds_for_each_item() -> None:
    ranking = ranked({PHQ8Item.SLEEP: (FIRST, SECOND), PHQ8Item.TIRED: (THIRD, FOURTH)})

    validated = await validate(ranking, deciding("reject", "accept", "accept"), max_refs=1)

    decided = ((1, 1, Decision.REJECT), (2, 2, Decision.ACCEPT), (1, 3, Decision.ACCEPT))
    first, second, third = (Verdict(rank=rank, chunk_id=id_, decision=decision) for rank, id_, decision in decided)
    assert validated == ValidatedReferences(
        validator="judge",
        items=ranked({PHQ8Item.SLEEP: (SECOND,), PHQ8Item.TIRED: (THIRD,)}).items,
        verdicts={PHQ8Item.SLEEP: (first, second), PHQ8Item.TIRED: (third,)},
    )


async def test_each_call_is_about_one_reference_at_temperature_zero() -> None:
    chat = deciding("accept")
    unscored = reference(TEXTS[2], chunk_id=2, score=None)

    await validate(sleep(unscored), chat)

    (call,) = chat.calls
    assert (call.model, call.temperature, call.json_mode, call.max_tokens) == ("judge", 0.0, True, 256)
    assert call.purpose == "validate PHQ8_Sleep rank 1"
    user = call.messages[1].content
    assert "Score of the reference: N/A" in user
    assert "\nabout Sleep\nand more\n" in user and "\nsecond chunk\n" in user
    assert "reject: it has nothing to do with the symptom or the evidence, or it contradicts the evidence." in user
    assert "Whether its score is right is not asked." in user


async def test_a_reply_that_is_no_verdict_raises_and_is_not_repaired() -> None:
    chat = ScriptedChat(lambda call: '{"decision": "accept"')

    with pytest.raises(LLMResponseParseError) as caught:
        await validate(sleep(FIRST), chat)

    assert caught.value.parse_error == "Expecting ',' delimiter at line 1, column 22"
    assert (caught.value.calls, len(chat.calls)) == (3, 3)


async def test_a_reply_that_is_no_verdict_is_sent_back_with_what_is_wrong() -> None:
    chat = replying("accept", '{"decision": "maybe"}', '{"decision": "reject"}', '{"decision": "accept"}')

    validated = await validate(sleep(FIRST, SECOND), chat)

    assert outcome(validated) == ([2], "ra")
    assert validated.reasks == ("missing_structure", "json_parse")
    assert (len(chat.calls), chat.calls[3].purpose) == (4, "validate PHQ8_Sleep rank 2")
    assert "the object has another 'decision'" in chat.calls[2].messages[-1].content


@pytest.mark.parametrize(
    "error", [LLMTimeoutError(9), LLMError("no such model"), RuntimeError("broken"), ConnectionResetError("gone")]
)
async def test_validator_errors_propagate(error: Exception) -> None:
    def fail(call: ChatCall) -> str:
        raise error

    chat = ScriptedChat(fail)

    with pytest.raises(type(error)) as caught:
        await validate(ranked(dict.fromkeys(PHQ8Item, (FIRST, SECOND))), chat)

    assert (caught.value, len(chat.calls)) == (error, 1)


def test_injected_instructions_are_kept_inside_the_fence() -> None:
    attacks = public_data("prompt_injection") / "bipia_attacks.jsonl"
    for line in attacks.read_text(encoding="utf-8").splitlines():
        attack = json.loads(line)["text"]
        _, asked = verdict_messages(PHQ8Item.SLEEP, evidence="e", reference=attack, score=2, max_chars=4000)
        user = asked.content
        mark = user.split("<<< reference ")[1].split("\n")[0].split(" ")[0]
        inside = user.split(f"<<< reference {mark}\n")[1].split(f"\nreference {mark} >>>")[0]

        assert inside == "\n".join(attack.splitlines())
