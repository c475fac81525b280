"""Strict parsing: what validators rely on."""

import pytest

from schemas.errors import LLMResponseParseError
from stages.replies import parse_strict


@pytest.mark.parametrize(
    "raw",
    [
        '{"decision": "accept"}',
        ' \n{"decision": "accept"}\n',
        '```json\n{"decision": "accept"}\n```',
        '```{"decision": "accept"}```',
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
