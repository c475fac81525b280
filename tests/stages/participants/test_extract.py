"""Stage `extract` through a language model, and evidence as it was given."""

import json

import pytest

from schemas.errors import EvidenceGroundingError, LLMResponseParseError
from schemas.values.chat import Message
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence, PHQ8Item
from stages.participants.extract import GroundingCheck
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import GROUNDING, extract_evidence, extraction_call, given_evidence

TRANSCRIPT = "Ellie: how are you\nParticipant: I can't sleep\nParticipant: I'm worn out every day"


def replying(text: str) -> ScriptedChat:
    return ScriptedChat(lambda call: text)


async def extract(chat: ScriptedChat, grounding: GroundingCheck = GROUNDING) -> ExtractedEvidence:
    return await extract_evidence(TRANSCRIPT, chat=chat, model="m", timeout_s=9, grounding=grounding)


def evidence_of(quotes: dict[PHQ8Item, tuple[str, ...]], **fields: object) -> ExtractedEvidence:
    every_item = {item: quotes.get(item, ()) for item in PHQ8Item}
    return ExtractedEvidence.model_validate({"extractor": "llm", "quotes": every_item} | fields)


async def test_one_call_gives_the_grounded_quotes_of_all_items() -> None:
    chat = replying('{"PHQ8_Sleep": ["I can’t sleep", "I lie awake"], "PHQ8_Tired": ["worn out every day"]}')

    evidence = await extract(chat)

    assert evidence == evidence_of(
        {PHQ8Item.SLEEP: ("I can’t sleep",), PHQ8Item.TIRED: ("worn out every day",)}, rejected={PHQ8Item.SLEEP: 1}
    )
    assert chat.calls == [extraction_call(TRANSCRIPT, model="m", timeout_s=9)]


async def test_the_call_asks_for_json_about_the_whole_transcript_and_names_nobody_in_its_purpose() -> None:
    call = extraction_call(TRANSCRIPT, model="m", timeout_s=9, temperature=0.5)

    system, user = call.messages
    assert (call.temperature, call.timeout_s, call.json_mode) == (0.5, 9, True)
    assert (system.role, user.role, call.purpose) == ("system", "user", "extract evidence")
    assert TRANSCRIPT in user.content
    assert all(item.evidence_key in user.content for item in PHQ8Item)


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        ('{"PHQ8_Sleep\u200b": ["I can\'t sleep"]}', ("json_fixups_applied",)),
        ('{"PHQ8_Sleep\u2060": ["I can\'t sleep"', ("json_fixups_applied", "json_repair_fallback")),
        ('{"\ufeffsleep": ["I can\'t sleep"]}', ("json_fixups_applied", "near_keys_matched")),
        ('```json\n```\n```json\n{"PHQ8_Sleep": ["I can\'t sleep"]}\n```', ()),
    ],
)
async def test_no_evidence_is_lost_to_what_nobody_sees_in_a_key(reply: str, repairs: tuple[str, ...]) -> None:
    evidence = await extract(replying(reply))

    assert evidence == evidence_of({PHQ8Item.SLEEP: ("I can't sleep",)}, repairs=repairs)


async def test_a_key_of_no_item_is_dropped_and_recorded_without_its_words() -> None:
    evidence = await extract(replying('{"PHQ8_Insomnia": ["I can\'t sleep"], "PHQ8_Tired": ["worn out every day"]}'))

    assert evidence == evidence_of(
        {PHQ8Item.TIRED: ("worn out every day",)}, repairs=("unknown_keys_dropped",), unknown_keys=("PHQ8_xxxxxxxx",)
    )


UNUSABLE = [
    ("I would rather not.", "missing_structure", "Expecting value at line 1, column 1"),
    ('{"PHQ8_Sleep": ["a"], "PHQ8_Sleep": []}', "json_parse", "a name occurs twice in one object"),
    ('{"PHQ8_Sleep": "I can\'t sleep"}', "schema_validation", "PHQ8_Sleep: expected_list_got_str"),
]


@pytest.mark.parametrize(("unusable", "reason", "problem"), UNUSABLE)
async def test_an_unusable_reply_is_sent_back_with_what_is_wrong(unusable: str, reason: str, problem: str) -> None:
    replies = iter([unusable, unusable, '{"PHQ8_Sleep": ["I can\'t sleep"]}'])
    chat = ScriptedChat(lambda call: next(replies))

    evidence = await extract(chat)

    assert evidence == evidence_of({PHQ8Item.SLEEP: ("I can't sleep",)}, reasks=(reason, reason))
    assert [call.purpose for call in chat.calls] == [
        "extract evidence",
        "extract evidence, re-ask 1",
        "extract evidence, re-ask 2",
    ]
    *exchange, request = chat.calls[1].messages
    assert exchange[-1] == Message(role="assistant", content=unusable)
    assert (request.role, problem in request.content) == ("user", True)


async def test_hallucinated_evidence_is_asked_for_again_where_it_would_fail() -> None:
    replies = iter(['{"PHQ8_Sleep": ["made up"]}', '{"PHQ8_Sleep": ["I can\'t sleep"]}'])

    evidence = await extract(
        ScriptedChat(lambda call: next(replies)), GROUNDING.model_copy(update={"fail_on_all_rejected": True})
    )

    assert evidence == evidence_of({PHQ8Item.SLEEP: ("I can't sleep",)}, reasks=("not_grounded",))


async def test_the_last_error_is_raised_as_it_is_with_the_number_of_calls() -> None:
    chat = replying("I would rather not.")

    with pytest.raises(LLMResponseParseError, match=r"column 1 \(2 re-asks did not help\)\.$") as caught:
        await extract(chat)

    assert (type(caught.value), caught.value.calls, len(chat.calls)) == (LLMResponseParseError, 3, 3)


async def test_a_reply_that_was_cut_off_raises_although_it_could_be_repaired() -> None:
    chat = ScriptedChat(lambda call: '{"PHQ8_Sleep": ["I can\'t sleep"', stop_reason="length")

    with pytest.raises(LLMResponseParseError, match="cut off at the token limit after 1 tokens"):
        await extract(chat)


async def test_hallucinated_evidence_is_empty_and_counted() -> None:
    evidence = await extract(replying('{"PHQ8_Sleep": ["made up"]}'))

    assert (evidence, evidence.hallucinated) == (evidence_of({}, rejected={PHQ8Item.SLEEP: 1}), True)


async def test_hallucinated_evidence_raises_where_asked() -> None:
    with pytest.raises(EvidenceGroundingError):
        await extract(
            replying('{"PHQ8_Sleep": ["made up"]}'), GROUNDING.model_copy(update={"fail_on_all_rejected": True})
        )


def test_given_evidence_passes_the_same_checks() -> None:
    given = json.loads('{"PHQ8_Sleep": [" I can\'t sleep ", "made up"], "PHQ8_Tired": null}')

    assert given_evidence(given, TRANSCRIPT) == evidence_of(
        {PHQ8Item.SLEEP: ("I can't sleep",)}, extractor=EvidenceExtractor.GIVEN, rejected={PHQ8Item.SLEEP: 1}
    )


def test_evidence_shows_no_quote_when_printed() -> None:
    assert "sleep" not in repr(given_evidence({"PHQ8_Sleep": ["I can't sleep"]}, TRANSCRIPT))
