"""Evidence of a transcript: asked for, nearest by similarity, and whether it is in the transcript."""

from collections.abc import Mapping, Sequence

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import EvidenceGroundingError, EvidenceSchemaError, TextTooLongError
from schemas.settings.run import RunSettings
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence, PHQ8Item
from stages.participants.extract import (
    EVIDENCE_JSON_SCHEMA,
    descriptions,
    extract_by_similarity,
    extract_evidence,
    given_evidence,
    keep_grounded,
    normalise,
    quotes_per_item,
)
from tests.fakes.chat import ScriptedChat, replying
from tests.fakes.embedder import FakeEmbedder
from tests.stages.at_defaults import GROUNDING, RUN, settings

TRANSCRIPT = "Ellie: how are you\nParticipant: I can't sleep\nParticipant: I'm worn out every day"


async def extract(chat: ScriptedChat, run: RunSettings = RUN) -> ExtractedEvidence:
    return await extract_evidence(TRANSCRIPT, chat=chat, settings=run)


def evidence_of(quotes: Mapping[PHQ8Item, tuple[str, ...]], **fields: object) -> ExtractedEvidence:
    every_item = {item: quotes.get(item, ()) for item in PHQ8Item}
    return ExtractedEvidence.model_validate({"extractor": "llm", "quotes": every_item} | fields)


async def test_the_call_asks_for_json_about_the_whole_transcript_and_names_nobody_in_its_purpose() -> None:
    chat = replying('{"PHQ8_Sleep": ["I can’t sleep", "I lie awake"], "PHQ8_Tired": ["worn out every day"]}')

    evidence = await extract(chat, settings(model={"temperature": 0.5}, ollama={"timeout_seconds": 9}))

    assert evidence == evidence_of(
        {PHQ8Item.SLEEP: ("I can’t sleep",), PHQ8Item.TIRED: ("worn out every day",)}, rejected={PHQ8Item.SLEEP: 1}
    )
    (call,) = chat.calls
    system, user = call.messages
    assert (call.temperature, call.timeout_s, call.json_mode, call.json_schema) == (0.5, 9, True, EVIDENCE_JSON_SCHEMA)
    assert (system.role, user.role, call.purpose) == ("system", "user", "extract evidence")
    assert TRANSCRIPT in user.content
    assert all(item.evidence_key in user.content for item in PHQ8Item)


SLEEP = {PHQ8Item.SLEEP: ("I can't sleep",)}


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        ('{"PHQ8_Sleep\u2060": ["I can\'t sleep"', ("json_fixups_applied", "json_repair_fallback")),
        ('{"\ufeffsleep": ["I can\'t sleep"]}', ("json_fixups_applied", "near_keys_matched")),
        ('{"PHQ8_Insomnia": ["me"], "PHQ8_Sleep": ["I can\'t sleep"]}', ("unknown_keys_dropped",)),
    ],
)
async def test_no_evidence_is_lost_to_what_nobody_sees_in_a_key(reply: str, repairs: tuple[str, ...]) -> None:
    assert await extract(replying(reply)) == evidence_of(SLEEP, repairs=repairs)


USABLE = '{"PHQ8_Sleep": ["I can\'t sleep"]}'


async def test_unusable_replies_are_sent_back_with_what_is_wrong() -> None:
    unusable = {
        "I would rather not.": ("missing_structure", "Expecting value at line 1, column 1"),
        '{"PHQ8_Sleep": ["a"], "PHQ8_Sleep": []}': ("json_parse", "a name occurs twice in one object"),
        '{"PHQ8_Sleep": "I can\'t sleep"}': ("schema_validation", "PHQ8_Sleep: expected_list_got_str"),
    }
    chat = replying(*unusable, USABLE)

    evidence = await extract(chat, settings(ragq={"reply_retries": 3}))

    assert evidence == evidence_of(SLEEP, reasks=tuple(reason for reason, _ in unusable.values()))
    for call, (_, problem) in zip(chat.calls[1:], unusable.values(), strict=True):
        assert problem in call.messages[-1].content


async def test_hallucinated_evidence_is_asked_for_again_where_it_would_fail() -> None:
    strict = settings(quantitative={"evidence_quote_fail_on_all_rejected": True})

    evidence = await extract(replying('{"PHQ8_Sleep": ["made up"]}', USABLE), strict)

    assert evidence == evidence_of(SLEEP, reasks=("not_grounded",))


def test_given_evidence_passes_the_same_checks_and_shows_no_quote_when_printed() -> None:
    given = {"PHQ8_Sleep": [" I can't sleep ", "made up"], "PHQ8_Tired": None}

    found = given_evidence(given, TRANSCRIPT, grounding=GROUNDING)

    assert found == evidence_of(SLEEP, extractor=EvidenceExtractor.GIVEN, rejected={PHQ8Item.SLEEP: 1})
    assert "sleep" not in repr(found)


UTTERANCES = {
    "awake all night": [1, 0, 0],  # similarity to sleep: 1
    "sleep is bad": [4, 3, 0],  # cosine .8, similarity .9
    "I hardly sleep": [4, 0, 3],  # the same
    "it was raining": [0, 1, 0],  # 0.5
}
SPOKEN = "Ellie: hello\n" + "\n".join(
    f"Participant: {text}"
    for text in ["it was raining", "sleep is bad", "I hardly sleep", "awake all night", "sleep is bad"]
)


def sleep_vectors(text: str) -> Sequence[float]:
    if text in UTTERANCES:
        return UTTERANCES[text]
    return [1, 0, 0] if text in descriptions()[PHQ8Item.SLEEP] else [-1, 0, 0]


@pytest.mark.parametrize(
    ("threshold", "max_quotes", "quotes"),
    [
        (0.95, 3, ("awake all night",)),
        (0.85, 3, ("sleep is bad", "I hardly sleep", "awake all night")),  # in the order of the transcript
        (0.85, 2, ("sleep is bad", "awake all night")),  # of two equal ones the earlier
        (0.85, 1, ("awake all night",)),
        (0.55, 9, ("sleep is bad", "I hardly sleep", "awake all night")),
        (1.0, 3, ("awake all night",)),
    ],
)
async def test_the_most_similar_utterances_are_quoted(threshold: float, max_quotes: int, quotes: tuple[str]) -> None:
    run = settings(quantitative={"similarity_threshold": threshold, "similarity_max_quotes": max_quotes})

    found = await extract_by_similarity(SPOKEN, embedder=FakeEmbedder(sleep_vectors), settings=run)

    assert found == evidence_of({PHQ8Item.SLEEP: quotes}, extractor="similarity")


async def test_all_items_are_answered_by_one_call_with_straight_apostrophes() -> None:
    embedder = FakeEmbedder(lambda text: [1.0, 0.0])

    found = await extract_by_similarity(f"Participant: I can’t sleep\n{SPOKEN}", embedder=embedder, settings=RUN)

    described = [text for item in PHQ8Item for text in descriptions()[item]]
    utterances = ["it was raining", "sleep is bad", "I hardly sleep", "awake all night"]
    assert embedder.calls == [[*described, "I can't sleep", *utterances]]
    assert found.quotes[PHQ8Item.SLEEP][0] == "I can’t sleep"


async def test_utterances_that_are_longer_than_the_embedder_reads_are_refused_or_cut_and_counted() -> None:
    embedder = FakeEmbedder(lambda text: [1.0, 0.0], max_chars=200)
    transcript = f"Participant: well\nParticipant: {'so I said ' * 30}"

    with pytest.raises(TextTooLongError):
        await extract_by_similarity(transcript, embedder=embedder, settings=RUN)
    cutting = settings(ragq={"long_texts": "truncate"})
    found = await extract_by_similarity(transcript, embedder=embedder, settings=cutting)

    assert found.cut_texts == 1


WITH_MARKS = "Ellie: how do you sleep\nParticipant: um I don’t sleep <laughter> at all\nParticipant: it’s been weeks"

SUBSTRING = GROUNDING
FUZZY = SUBSTRING.model_copy(update={"evidence_quote_validation_mode": "fuzzy"})


def test_normalising_removes_differences_that_models_introduce() -> None:
    normal = {
        "“I’m” ‘fine’": "\"i'm\" 'fine'",
        "so <laughter> what<sigh>ever": "so what ever",
        "ﬁne … ＯＫ": "fine ... ok",
        "below < 5 days\nor > 3": "below < 5 days or > 3",
    }
    assert {text: normalise(text) for text in normal} == normal


LONG = f"{WITH_MARKS} and so on"


@pytest.mark.parametrize(
    ("quote", "is_kept", "is_kept_if_fuzzy"),
    [
        ("I DON’T   SLEEP\nat all", True, True),
        ("at all Participant: it's been weeks", True, True),  # across lines, with the speaker's prefix
        ("at all it's been weeks", False, True),  # across lines, without it
        ("I never sleep", False, False),  # partial ratio .69
        ("I do not sleep at all", False, True),  # .88
        (LONG, False, False),  # contains the transcript
        ("<laughter>", False, False),  # empty after normalising
    ],
)
def test_a_quote_is_kept_when_it_is_in_the_transcript_or_in_fuzzy_mode_nearly_so(
    quote: str, is_kept: bool, is_kept_if_fuzzy: bool
) -> None:
    item = PHQ8Item.SLEEP
    for check, kept in ((SUBSTRING, is_kept), (FUZZY, is_kept_if_fuzzy)):
        grounded = keep_grounded({item: [quote], PHQ8Item.MOVING: []}, WITH_MARKS, check)
        assert grounded == ({item: (quote,) if kept else (), PHQ8Item.MOVING: ()}, {} if kept else {item: 1})


def test_all_rejected_raises_where_asked_without_showing_a_quote() -> None:
    check = SUBSTRING.model_copy(update={"evidence_quote_fail_on_all_rejected": True})

    with pytest.raises(EvidenceGroundingError, match=r"^None of 2 extracted quotes is in the transcript\.$"):
        keep_grounded({PHQ8Item.SLEEP: ["invented", "made up"]}, WITH_MARKS, check)


def test_all_violations_are_reported_at_once_and_without_a_quote() -> None:
    reply = {
        "PHQ8_NoInterest": "secret",
        "PHQ8_Tired": ["fine", "fine", None],
        "PHQ8_Appetite": ["secret\x00"],
        "PHQ8_Failure": ["secret\ud800"],
    }

    with pytest.raises(EvidenceSchemaError) as caught:
        quotes_per_item(reply)

    assert caught.value.violations == {
        "PHQ8_NoInterest": "expected_list_got_str",
        "PHQ8_Tired": "expected_list_str_got_NoneType_at_2",
        "PHQ8_Appetite": "expected_list_str_got_unstorable_text_at_0",
        "PHQ8_Failure": "expected_list_str_got_unstorable_text_at_0",
    }
    assert "secret" not in str(caught.value)


def test_the_schema_for_servers_is_a_json_schema_that_wants_all_eight_keys() -> None:
    validator = Draft202012Validator(EVIDENCE_JSON_SCHEMA)
    complete: dict[str, object] = {item.evidence_key: [] for item in PHQ8Item}
    without = {key: quotes for key, quotes in complete.items() if key != "PHQ8_Sleep"}

    validity = [validator.is_valid(reply) for reply in (complete, without, complete | {"PHQ8_Sleep": "x"})]
    assert validity == [True, False, False]
