"""Scores in a reply of a model: their form, keys of items, totals."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import FailureCategory, LLMResponseParseError, ReplyShapeError
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import InferenceType, ItemScore, Severity
from stages.participants import score_reply
from stages.replies.parsing import ParsedReply, RepairStep
from tests.stages.participants.score_replies import ANSWER, reply_of

BODY = json.dumps({item.evidence_key: ANSWER for item in PHQ8Item})


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        (reply_of(), ()),
        (reply_of().replace('"confidence": 4}', '"confidence": 4,}'), ("json_fixups_applied",)),
        (BODY.replace('"', "'"), ("json_python_literal_fallback",)),
        (BODY.replace('"score": 2', "score: 2"), ("json_repair_fallback",)),
        (BODY.replace("PHQ8_Sleep", "PHQ8_Sleep\u200b"), ("json_fixups_applied",)),
        (BODY.replace('"score"', '"\u2060score"'), ("json_fixups_applied",)),
        (BODY.replace("PHQ8_Sleep", "phq-8 sleep"), ("near_keys_matched",)),
        (BODY.replace('{"PHQ8_NoInterest"', '{"note": "tired", "PHQ8_NoInterest"'), ("unknown_keys_dropped",)),
        (f'<answer>{{"old": 1}}</answer> No: <answer>{BODY}</answer>', ("several_answers",)),
        (f"<answer>{BODY}</answer> As said: <answer>{BODY}\n</answer>", ()),
        (f"I write <answer> tags: <answer>{BODY}</answer>", ()),
        (f"<thinking>{{no}}</thinking> <answer>{BODY}", ()),  # the end is missing
        (f"Here: ```json\n{BODY}\n``` and {{more}}", ()),
        (f"```json\n```\n```json\n{BODY}\n```", ()),
    ],
)
def test_a_reply_is_repaired_and_the_repair_steps_are_recorded(reply: str, repairs: tuple[str, ...]) -> None:
    parsed = score_reply.parse_scores(reply, severity_mode="strict")

    assert parsed.repairs == repairs
    assert parsed.value == score_reply.parse_scores(BODY, severity_mode="strict").value


def test_a_reply_that_is_cut_answers_nothing_or_an_item_twice_is_refused() -> None:
    with pytest.raises(ReplyShapeError) as caught:
        score_reply.parse_scores(BODY[: BODY.index("PHQ8_Moving") + 20], severity_mode="strict")

    assert {place.split(".")[0] for place in wrong(caught.value)} == {"PHQ8_Moving"}
    assert score_reply.object_text('{"a": 1') == '{"a": 1'
    with pytest.raises(LLMResponseParseError, match="there is no JSON object in it"):
        score_reply.parse_scores("<answer>no scores</answer> {thought}", severity_mode="strict")
    with pytest.raises(ReplyShapeError, match="PHQ8_Sleep: given more than once"):
        score_reply.parse_scores(BODY[:-1] + ', "Sleep": {"score": 0}}', severity_mode="strict")


INFERRED = {"inference_used": True, "inference_type": "temporal_marker", "inference_marker": "lately"}


def answers(mode: Any = "strict", /, **fields: Any) -> ItemScore:
    """What is read when all items have these fields; a value of ... takes a field away."""
    answer = {name: value for name, value in (ANSWER | fields).items() if value is not ...}
    read = score_reply.item_answers({item.evidence_key: answer for item in PHQ8Item}, raw="raw", severity_mode=mode)
    assert [*read] == [*PHQ8Item]
    assert len(set(map(repr, read.values()))) == 1
    return read[PHQ8Item.SLEEP]


def wrong(error: ReplyShapeError) -> dict[str, str]:
    assert error.category is FailureCategory.SCORING_SCHEMA_INVALID
    return dict(one.split(": ", 1) for one in error.parse_error.split("; "))


def violations(**fields: Any) -> dict[str, str]:
    """What is wrong with the sleep item when all items have these fields."""
    with pytest.raises(ReplyShapeError) as caught:
        answers(**fields)
    prefix = "PHQ8_Sleep."
    found = wrong(caught.value)
    return {place.removeprefix(prefix): what for place, what in found.items() if place.startswith(prefix)}


WHOLE = [(0, 0), (3, 3), (2.0, 2), ("1", 1), (" 3 ", 3), (None, None), ("N/A", None), (" n/a ", None), ("+2", 2)]


def test_a_score_and_a_confidence_are_read_in_every_allowed_spelling() -> None:
    assert [(said, answers(score=said).score) for said, _ in WHOLE] == WHOLE
    for said, confidence in ((1, 1), (5, 5), ("4", 4), (3.0, 3), (None, None), ("N/A", None), (..., None)):
        assert answers(confidence=said).confidence == confidence


@pytest.mark.parametrize("score", [4, -1, 2.5, "4", "2.0", "two", "", "none", True, False, [2], {"value": 2}, 10**30])
def test_any_other_score_is_refused(score: object) -> None:
    (wrong,) = violations(score=score).values()

    assert wrong.startswith('expected a whole number from 0 to 3, or "N/A", found another ')


@pytest.mark.parametrize("text", [7, ["a"], {"a": 1}, "nul \x00", "half \ud83d"])
def test_evidence_that_is_no_text_or_cannot_be_stored_is_refused(text: object) -> None:
    assert [*violations(evidence=text)] == ["evidence"]


def test_inference_is_read_in_its_own_mode_alone() -> None:
    inference = {**INFERRED, "inference_type": InferenceType.TEMPORAL_MARKER}
    assert answers("infer", **INFERRED) == answers().model_copy(update=inference)
    assert answers(**INFERRED) == answers() == answers("infer")


def test_all_violations_are_reported_at_once_and_without_the_reply() -> None:
    reply = {item.evidence_key: ANSWER for item in PHQ8Item} | {
        "PHQ8_Sleep": "secret",
        "PHQ8_Tired": ANSWER | {"score": 9},
    }
    del reply["PHQ8_Moving"]

    with pytest.raises(ReplyShapeError) as caught:
        score_reply.item_answers(reply, raw="secret", severity_mode="strict")

    assert wrong(caught.value) == {
        "PHQ8_Sleep": "expected an object, found string",
        "PHQ8_Tired.score": 'expected a whole number from 0 to 3, or "N/A", found another number',
        "PHQ8_Moving": "missing",
    }
    assert caught.value.raw_response == "secret"
    assert "secret" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("mode", ["strict", "infer"])
def test_the_schema_allows_what_is_asked_for_and_what_it_allows_is_read(mode: Any) -> None:
    extra = INFERRED if mode == "infer" else {}
    schema = Draft202012Validator(score_reply.score_json_schema(mode, max_text_chars=None))
    whole = {item.evidence_key: ANSWER | extra for item in PHQ8Item}
    unscored = {item.evidence_key: ANSWER | extra | {"score": "N/A", "confidence": None} for item in PHQ8Item}

    for reply in (whole, unscored):
        schema.validate(reply)
        score_reply.item_answers(reply, raw="", severity_mode=mode)
    assert not schema.is_valid(whole | {"PHQ8_Sleep": ANSWER | extra | {"score": 4}})
    assert not Draft202012Validator(score_reply.score_json_schema(mode, max_text_chars=4)).is_valid(whole)
    assert not schema.is_valid({key: answer for key, answer in whole.items() if key != "PHQ8_Sleep"})


def test_another_spelling_of_a_key_is_matched_and_recorded() -> None:
    for key in ("phq8_nointerest", "NoInterest", "PHQ-8 No Interest", "no_interest", "PHQ8NoInterest"):
        found = {"PHQ8_NoInterest": ["a"]}, (RepairStep.NEAR_KEYS,)
        assert score_reply.match_keys(ParsedReply({key: ["a"]}, ())) == (found, [], 0)
    for key in ("PHQ8_Slep", "Sleeping", "PHQ9_Sleep", "", "PHQ8_", "a" * 1000):  # A guess is not made.
        found = {}, (RepairStep.UNKNOWN_KEYS,)
        assert score_reply.match_keys(ParsedReply({key: ["a"]}, ())) == (found, [], 1)
    for other, expected in (("b", ["PHQ8_Sleep"]), ("a", [])):
        _, repeated, _ = score_reply.match_keys(ParsedReply({"PHQ8_Sleep": ["a"], "sleep": [other]}, ()))
        assert repeated == expected


def test_every_na_is_a_0_in_the_lower_bound_and_a_3_in_the_upper() -> None:
    mild, moderate, severe = Severity.MILD, Severity.MODERATE, Severity.SEVERE
    for scores, expected in (
        ([1] * 8, (8, 8, mild, mild, mild)),
        ([1] * 7 + [None], (7, 10, mild, moderate, None)),
        ([3] * 7 + [None], (21, 24, severe, severe, severe)),
        ([None] * 8, (0, 24, Severity.MINIMAL, severe, None)),
    ):
        assert tuple(score_reply.totals_of(scores).model_dump().values()) == expected


def test_a_severity_is_a_band_of_five() -> None:
    assert [score_reply.severity_of(total) for total in range(25)] == [band for band in Severity for _ in range(5)]
    for total in (-1, 25):
        with pytest.raises(ValueError, match=rf"is 0\.\.24, not {total}"):
            score_reply.severity_of(total)
