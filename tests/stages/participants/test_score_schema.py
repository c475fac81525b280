"""The shape of a scoring answer."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import ScoringSchemaError
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import InferenceType, ItemAnswer
from stages.participants.score_reply import item_answers, score_json_schema
from tests.stages.participants.score_replies import ANSWER

INFERRED = {"inference_used": True, "inference_type": "temporal_marker", "inference_marker": "lately"}


def answers(mode: Any = "strict", /, **fields: Any) -> ItemAnswer:
    """What is read when all items have these fields; a value of ... takes a field away."""
    answer = {name: value for name, value in (ANSWER | fields).items() if value is not ...}
    read = item_answers({item.evidence_key: answer for item in PHQ8Item}, raw="raw", severity_mode=mode)
    assert [*read] == [*PHQ8Item]
    assert len(set(map(repr, read.values()))) == 1
    return read[PHQ8Item.SLEEP]


def violations(mode: Any = "strict", /, **fields: Any) -> dict[str, str]:
    """What is wrong with the sleep item when all items have these fields."""
    with pytest.raises(ScoringSchemaError) as caught:
        answers(mode, **fields)
    prefix = "PHQ8_Sleep."
    return {
        place.removeprefix(prefix): wrong
        for place, wrong in caught.value.violations.items()
        if place.startswith(prefix)
    }


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0, 0), (3, 3), (2.0, 2), ("1", 1), (" 3 ", 3), (None, None), ("N/A", None), (" n/a ", None), ("+2", 2)],
)
def test_a_score_is_read_in_every_allowed_spelling(score: object, expected: int | None) -> None:
    assert answers(score=score).score == expected


@pytest.mark.parametrize("score", [4, -1, 2.5, "4", "2.0", "two", "", "none", True, False, [2], {"value": 2}, 10**30])
def test_any_other_score_is_refused(score: object) -> None:
    (wrong,) = violations(score=score).values()

    assert wrong.startswith('expected a whole number from 0 to 3, or "N/A", found another ')


@pytest.mark.parametrize(
    ("confidence", "expected"), [(1, 1), (5, 5), ("4", 4), (3.0, 3), (None, None), ("N/A", None), (..., None)]
)
def test_a_confidence_is_read_or_left_out(confidence: object, expected: int | None) -> None:
    assert answers(confidence=confidence).confidence == expected


@pytest.mark.parametrize("text", [7, ["a"], {"a": 1}, "nul \x00", "half \ud83d"])
def test_evidence_that_is_no_text_or_cannot_be_stored_is_refused(text: object) -> None:
    assert [*violations(evidence=text)] == ["evidence"]


def test_inference_is_read_in_its_own_mode_alone() -> None:
    inferred = answers("infer", **INFERRED)

    assert (inferred.inference_used, inferred.inference_type) == (True, InferenceType.TEMPORAL_MARKER)
    assert inferred.inference_marker == "lately"
    assert answers(**INFERRED) == answers()
    assert answers("infer") == answers()


def test_all_violations_are_reported_at_once_and_without_the_reply() -> None:
    reply = {item.evidence_key: ANSWER for item in PHQ8Item} | {
        "PHQ8_Sleep": "secret",
        "PHQ8_Tired": ANSWER | {"score": 9},
    }
    del reply["PHQ8_Moving"]

    with pytest.raises(ScoringSchemaError) as caught:
        item_answers(reply, raw="secret", severity_mode="strict")

    assert caught.value.violations == {
        "PHQ8_Sleep": "expected an object, found string",
        "PHQ8_Tired.score": 'expected a whole number from 0 to 3, or "N/A", found another number',
        "PHQ8_Moving": "missing",
    }
    assert caught.value.raw_response == "secret"
    assert "secret" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("mode", ["strict", "infer"])
def test_the_schema_allows_what_is_asked_for_and_what_it_allows_is_read(mode: Any) -> None:
    extra = INFERRED if mode == "infer" else {}
    schema = Draft202012Validator(score_json_schema(mode, max_text_chars=None))
    whole = {item.evidence_key: ANSWER | extra for item in PHQ8Item}
    unscored = {item.evidence_key: ANSWER | extra | {"score": "N/A", "confidence": None} for item in PHQ8Item}

    for reply in (whole, unscored):
        schema.validate(reply)
        item_answers(reply, raw="", severity_mode=mode)
    assert not schema.is_valid(whole | {"PHQ8_Sleep": ANSWER | extra | {"score": 4}})
    assert not Draft202012Validator(score_json_schema(mode, max_text_chars=4)).is_valid(whole)
    assert not schema.is_valid({key: answer for key, answer in whole.items() if key != "PHQ8_Sleep"})
