"""Chunk scores (Spec 35)."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import LLMResponseParseError, Refused, ScoringSchemaError
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import ChunkScores
from stages.participants.chunking import CHUNK_SCORES_JSON_SCHEMA, PROMPT_HASH, chunk_scores_of, refuse_circular_scoring
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import chunk_scores_call, score_chunk

NULLS: dict[str, Any] = {item.evidence_key: None for item in PHQ8Item}
CHUNK = "Participant: i lie awake every night"


async def score(reply: str, *, stop_reason: str = "stop") -> ChunkScores:
    chat = ScriptedChat(lambda call: reply, stop_reason=stop_reason)
    return await score_chunk(CHUNK, chat=chat, model="scorer", timeout_s=9)


async def test_one_call_at_temperature_zero_scores_all_items() -> None:
    chat = ScriptedChat(lambda call: json.dumps(NULLS | {"PHQ8_Sleep": 3}))

    scores = await score_chunk(CHUNK, chat=chat, model="scorer", timeout_s=9)

    assert scores == ChunkScores(
        model="scorer",
        model_digest="digest of scorer",
        prompt_hash=PROMPT_HASH,
        scores=dict.fromkeys(PHQ8Item) | {PHQ8Item.SLEEP: 3},
    )
    assert chat.calls == [chunk_scores_call(CHUNK, model="scorer", timeout_s=9)]
    assert (chat.calls[0].temperature, chat.calls[0].purpose) == (0.0, "score chunk")
    assert chat.calls[0].max_tokens == 256
    assert CHUNK in chat.calls[0].messages[1].content


@pytest.mark.parametrize("score", [0, 1, 2, 3, None])
def test_whole_numbers_to_three_and_null_are_scores(score: int | None) -> None:
    assert chunk_scores_of(NULLS | {"PHQ8_Sleep": score})[PHQ8Item.SLEEP] == score


@pytest.mark.parametrize("value", [True, False, -1, 4, 1.0, "1", "N/A", [], {}])
def test_bad_values_raise(value: object) -> None:
    with pytest.raises(ScoringSchemaError) as caught:
        chunk_scores_of(NULLS | {"PHQ8_Sleep": value})

    assert [*caught.value.violations] == ["PHQ8_Sleep"]


def test_bad_keys_raise_all_at_once_and_are_not_shown() -> None:
    reply = {key: value for key, value in NULLS.items() if key != "PHQ8_Sleep"} | {"secret": 1}

    with pytest.raises(ScoringSchemaError) as caught:
        chunk_scores_of(reply)

    assert caught.value.violations == {"PHQ8_Sleep": "missing", "root": "keys other than the eight: 1"}
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("reply", ["I'd say mild.", "[]", "{}"])
async def test_an_unusable_reply_raises_and_never_becomes_nulls(reply: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        await score(reply)

    assert caught.value.raw_response == reply


async def test_an_unusable_reply_is_sent_back_with_what_is_wrong() -> None:
    replies = iter(["mild", "{}", json.dumps(NULLS | {"PHQ8_Sleep": 1})])
    chat = ScriptedChat(lambda call: next(replies))

    scores = await score_chunk(CHUNK, chat=chat, model="scorer", timeout_s=9)

    assert scores.scores[PHQ8Item.SLEEP] == 1
    assert scores.reasks == ("missing_structure", "schema_validation")
    assert [call.purpose for call in chat.calls] == ["score chunk", "score chunk, re-ask 1", "score chunk, re-ask 2"]
    assert "PHQ8_Sleep: missing" in chat.calls[2].messages[-1].content


def test_the_schema_allows_scores_and_nulls_under_exactly_the_eight_keys() -> None:
    schema = Draft202012Validator(dict(CHUNK_SCORES_JSON_SCHEMA))

    assert schema.is_valid(NULLS | {"PHQ8_Sleep": 3})
    assert not any(map(schema.is_valid, [{}, NULLS | {"PHQ8_Sleep": 4}, NULLS | {"PHQ8_Sleep": "1"}, NULLS | {"x": 1}]))


def test_a_model_does_not_score_its_own_examples_unless_allowed() -> None:
    refuse_circular_scoring("a", quantitative_model="b")
    refuse_circular_scoring("a", quantitative_model="a", allow_same_model=True)

    with pytest.raises(Refused, match="Choose another scorer, or allow it with --allow-same-model"):
        refuse_circular_scoring("a", quantitative_model="a")
