"""Replies that have to be JSON."""

import pytest

from schemas.errors import LLMResponseParseError
from stages.replies.parsing import parse_strict, unwrap


@pytest.mark.parametrize(
    "raw",
    [
        '{"decision": "accept"}',
        ' \n{"decision": "accept"}\n',
        '```json\n{"decision": "accept"}\n```',
        '```{"decision": "accept"}```',
        '```json\n```\n```json\n{"decision": "accept"}\n```',
        '```\n```json\n{"decision": "accept"}\n```\n```',
    ],
)
def test_a_fence_and_white_space_may_surround_the_object(raw: str) -> None:
    assert parse_strict(raw) == {"decision": "accept"}


@pytest.mark.parametrize(
    ("raw", "parse_error"),
    [
        ("", "Expecting value at line 1, column 1"),
        ("I accept it.", "Expecting value at line 1, column 1"),
        ('Sure: ```json\n{"decision": "accept"}\n```', "Expecting value at line 1, column 1"),
        ("{'decision': 'accept'}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"decision": "accept"} and more', "Extra data at line 1, column 24"),
        ('["accept"]', "expected a JSON object, found array"),
        ('"accept"', "expected a JSON object, found string"),
        ("1", "expected a JSON object, found number"),
        ("true", "expected a JSON object, found boolean"),
        ("null", "expected a JSON object, found null"),
        ('{"score": NaN}', "NaN is not JSON"),
        ('{"decision": "reject", "decision": "accept"}', "a name occurs twice in one object"),
        ("[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_nothing_is_repaired(raw: str, parse_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse_strict(raw)

    assert (caught.value.raw_response, caught.value.parse_error) == (raw, parse_error)


def test_the_error_shows_nothing_of_the_reply() -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse_strict("{private words")

    shown = f"{caught.value} {caught.value!r}"
    assert "private" not in shown
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("reply", "unwrapped"),
    [
        ("{}", "{}"),
        ("  {}\n", "{}"),
        ("Let me think.\n<answer>{}</answer>\nDone.", "{}"),
        ("It goes in <answer></answer> tags. <answer>{}</answer>", "{}"),
        ("<answer>{}", "<answer>{}"),
        ("```json\n{}\n```", "{}"),
        ("```JSON {} ```", "{}"),
        ("```\n{}\n```", "{}"),
        ("First ```json\n{}\n``` then ```[]```", "{}"),
        ("<answer>\n```json\n{}\n```\n</answer>", "{}"),
        ("```json\n```\n```json\n{}\n```", "{}"),
        ("```\n```json\n{}\n```\n```", "{}"),
        ("``` ```\nHere {it} is: ```json\n{}\n```", "{}"),
        ("```json\nHere it is: {}\n```", "Here it is: {}"),
        ("```json\n{}", "{}"),
        ("{}\n```", "{}"),
        ("", ""),
    ],
)
def test_tags_and_fences_are_removed(reply: str, unwrapped: str) -> None:
    assert unwrap(reply) == unwrapped
