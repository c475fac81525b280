"""Parsing of a scoring reply."""

import json

import pytest

from schemas.errors import ScoringSchemaError
from schemas.values.participants import PHQ8Item
from stages.participants.score_reply import object_text, parse_scores
from tests.stages.participants.score_replies import ANSWER, reply_of

BODY = json.dumps({item.evidence_key: ANSWER for item in PHQ8Item})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('<answer>{"a": 1}</answer>', '{"a": 1}'),
        ('<Answer>{"a": 1}</ANSWER>', '{"a": 1}'),
        ('<answer>{"old": 1}</answer> wait <answer>{"a": 1}</answer>', '{"a": 1}'),
        ('<answer>{"a": 1}', '{"a": 1}'),  # the end is missing
        ('<thinking>{no}</thinking> <answer>```json\n{"a": 1}\n```</answer>', '{"a": 1}'),
        ('Here: ```json\n{"a": 1}\n``` and {more}', '{"a": 1}'),
        ('```json\n```\n```json\n{"a": 1}\n```', '{"a": 1}'),
        ('My scores: {"a": {"b": 1}} as asked.', '{"a": {"b": 1}}'),
        ('{"a": 1', '{"a": 1'),
        ("no scores today", None),
        ("<answer>no scores</answer> {thought}", None),
        ("", None),
    ],
)
def test_the_object_is_found_behind_tags_fences_and_words(reply: str, expected: str | None) -> None:
    assert object_text(reply) == expected


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        (BODY, ()),
        (reply_of(), ()),
        (f"```json\n{BODY}\n```", ()),
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
    ],
)
def test_a_reply_is_repaired_and_the_repair_steps_are_recorded(reply: str, repairs: tuple[str, ...]) -> None:
    parsed = parse_scores(reply, severity_mode="strict")

    assert parsed.repairs == repairs
    assert parsed.answers == parse_scores(BODY, severity_mode="strict").answers


def test_a_reply_cut_in_the_middle_is_not_completed_by_repair() -> None:
    with pytest.raises(ScoringSchemaError) as caught:
        parse_scores(BODY[: BODY.index("PHQ8_Moving") + 20], severity_mode="strict")

    assert [place.split(".")[0] for place in caught.value.violations] == ["PHQ8_Moving"]


def test_two_answers_for_one_item_are_refused() -> None:
    raw = BODY[:-1] + ', "Sleep": {"score": 0}}'

    with pytest.raises(ScoringSchemaError, match="PHQ8_Sleep: given more than once"):
        parse_scores(raw, severity_mode="strict")
