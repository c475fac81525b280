"""Chunks of transcripts, their tags and scores."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import LLMResponseParseError, Refused, ReplyShapeError
from schemas.settings.run import EmbeddingSettings
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ChunkScores
from stages.participants import chunking
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import RUN


def test_windows_that_lose_lines_are_refused_and_short_ones_left_out() -> None:
    for size, step in ((1, 1), (8, 0), (8, 9)):
        with pytest.raises(ValueError, match=f"Windows of {size} lines every {step} are not possible"):
            chunking.window_starts(20, size=size, step=step)
    embedding = EmbeddingSettings(chunk_size=2, chunk_step=1, min_evidence_chars=9)
    assert (chunking.chunk_transcript(" mhm \n hm ", embedding), chunking.chunk_transcript("\n\n", embedding)) == (
        (),
        (),
    )


NULLS: dict[str, Any] = {item.evidence_key: None for item in PHQ8Item}
CHUNK = "Participant: i lie awake every night"


async def test_one_call_at_temperature_zero_scores_all_items() -> None:
    chat = ScriptedChat(lambda call: json.dumps(NULLS | {"PHQ8_Sleep": 3}))

    scores = await chunking.score_chunk(CHUNK, chat=chat, model="scorer", settings=RUN)

    assert scores == ChunkScores(
        model="scorer",
        model_digest="digest of scorer",
        prompt_hash=chunking.PROMPT_HASH,
        scores=dict.fromkeys(PHQ8Item) | {PHQ8Item.SLEEP: 3},
    )
    (call,) = chat.calls
    assert (call.model, call.temperature, call.max_tokens, call.purpose) == ("scorer", 0.0, 256, "score chunk")
    assert CHUNK in call.messages[1].content


@pytest.mark.parametrize("value", [True, False, -1, 4, 1.0, "1", "N/A", [], {}])
def test_bad_values_raise(value: object) -> None:
    with pytest.raises(ReplyShapeError) as caught:
        chunking.chunk_scores_of(NULLS | {"PHQ8_Sleep": value})

    assert caught.value.parse_error.startswith("PHQ8_Sleep: ") and ";" not in caught.value.parse_error
    for score in (0, 1, 2, 3, None):
        assert chunking.chunk_scores_of(NULLS | {"PHQ8_Sleep": score})[PHQ8Item.SLEEP] == score


def test_bad_keys_raise_all_at_once_and_are_not_shown() -> None:
    reply = {key: value for key, value in NULLS.items() if key != "PHQ8_Sleep"} | {"secret": 1}

    with pytest.raises(ReplyShapeError) as caught:
        chunking.chunk_scores_of(reply)

    assert caught.value.parse_error == "PHQ8_Sleep: missing; root: keys other than the eight: 1"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("reply", ["I'd say mild.", "[]", "{}"])
async def test_an_unusable_reply_raises_and_never_becomes_nulls(reply: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        await chunking.score_chunk(CHUNK, chat=ScriptedChat(lambda call: reply), model="scorer", settings=RUN)

    assert caught.value.raw_response == reply


def test_the_schema_allows_scores_and_nulls_under_exactly_the_eight_keys() -> None:
    schema = Draft202012Validator(dict(chunking.CHUNK_SCORES_JSON_SCHEMA))

    assert schema.is_valid(NULLS | {"PHQ8_Sleep": 3})
    assert not any(map(schema.is_valid, [{}, NULLS | {"PHQ8_Sleep": 4}, NULLS | {"PHQ8_Sleep": "1"}, NULLS | {"x": 1}]))


def test_a_model_does_not_score_its_own_examples_unless_allowed() -> None:
    chunking.refuse_circular_scoring("a", quantitative_model="b")
    chunking.refuse_circular_scoring("a", quantitative_model="a", allow_same_model=True)

    with pytest.raises(Refused, match="Choose another scorer, or allow it with --allow-same-model"):
        chunking.refuse_circular_scoring("a", quantitative_model="a")


EVERY_PHRASE = [(item, phrase) for item, of_item in chunking.phrases().items() for phrase in of_item]


def test_a_phrase_tags_its_own_item_in_any_case_and_spacing_and_no_other() -> None:
    tagged = {phrase: chunking.tag_chunk(f"Participant: {phrase}") for _, phrase in EVERY_PHRASE}

    assert tagged == {phrase: (item.evidence_key,) for item, phrase in EVERY_PHRASE}
    for text in ("i cant sleep", "i can’t sleep", "I CAN'T  SLEEP.", "<sigh> can't\tsleep, no", "(can't sleep)"):
        assert chunking.tag_chunk(text) == ("PHQ8_Sleep",)


@pytest.mark.parametrize(
    "said",
    [
        "since i retired i read a lot",
        "he attired himself",
        "two failures of the engine",
        "the space outside",
        "a guiltless day with appetizers",
        "it was slow\nParticipant: motion is hard",
        "how are you doing today",
    ],
)
def test_no_phrase_matches_inside_other_words_or_across_lines(said: str) -> None:
    assert chunking.tag_chunk(f"Participant: {said}") == ()
