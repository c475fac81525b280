"""All repair steps together: the result of each, and the error that is raised."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LLMResponseParseError
from stages.replies import ParsedReply, RepairStep, parse_reply

MALFORMED_JSON = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "malformed_json" / "cases.jsonl"


@pytest.mark.parametrize(
    ("raw", "repairs"),
    [
        ('{"a": ["x"]}', ()),
        ('Thinking.\n<answer>```json\n{"a": ["x"]}\n```</answer>', ()),
        ("{“a”: [“x”,]}", (RepairStep.FIXUPS,)),
        ("{'a': ['x']}", (RepairStep.PYTHON_LITERAL,)),
        ("{‘a’: ['x']}", (RepairStep.FIXUPS, RepairStep.PYTHON_LITERAL)),
        ('Here you are: {"a": ["x"]}', (RepairStep.JSON_REPAIR,)),
        ('{a: ["x"', (RepairStep.JSON_REPAIR,)),
        ('{"a\u200b": ["x"]}', (RepairStep.FIXUPS,)),
        (r'{"a\u2060": ["x"]}', (RepairStep.FIXUPS,)),
        ('\ufeff{"\u200da": ["x"]}', (RepairStep.FIXUPS,)),
        ('``\u200b`json\n{"a": ["x"]}\n```', (RepairStep.FIXUPS,)),
        ("{'\u200ca': ['x']}", (RepairStep.FIXUPS, RepairStep.PYTHON_LITERAL)),
        (r"{'a\u200b': ['x']}", (RepairStep.PYTHON_LITERAL,)),
        ('{a\u200b: ["x"', (RepairStep.FIXUPS, RepairStep.JSON_REPAIR)),
        ('```json\n```\n```json\n{"a": ["x"]}\n```', ()),
    ],
)
def test_the_repair_steps_that_were_needed_are_reported(raw: str, repairs: tuple[RepairStep, ...]) -> None:
    assert parse_reply(raw) == ParsedReply({"a": ["x"]}, repairs)


@pytest.mark.parametrize(
    ("raw", "first_error"),
    [
        ("", "Expecting value at line 1, column 1"),
        ("I cannot help with that.", "Expecting value at line 1, column 1"),
        ("```json\n[1, 2,\n```", "Expecting value at line 1, column 7"),
        ('["a", "b"]', "expected a JSON object, found array"),
        ("null", "expected a JSON object, found null"),
        ("[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_the_first_error_is_raised(raw: str, first_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse_reply(raw)

    assert (caught.value.raw_response, caught.value.parse_error) == (raw, first_error)


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": ["x"], "a": []}',
        '{"a": ["x"], "a\u200b": []}',
        '{"b": {"a": 1, "a": 2}}',
        '{"a": ["x"], "a": [],}',
        "{'a': ['x'], 'a': []}",
    ],
)
def test_a_name_with_two_values_is_refused_because_one_would_be_lost(raw: str) -> None:
    with pytest.raises(LLMResponseParseError, match="a name occurs twice in one object"):
        parse_reply(raw)


@pytest.mark.parametrize(
    "piece", ['\\"', "\\'", '"', "{", '{"a":', "```", "<answer>", "\u200b", '{"a" "b" ', "'\"", ", "]
)
@pytest.mark.parametrize("before", ['{"', "{'"])
def test_hostile_replies_take_time_in_proportion_to_their_length(before: str, piece: str) -> None:
    def seconds(chars: int) -> float:
        began = time.process_time()
        object_or_none(before + piece * (chars // len(piece)))
        return time.process_time() - began

    # Eight times the text: a quadratic reader would take 64 times as long.
    assert seconds(160_000) < 24 * seconds(20_000) + 0.5


@given(st.text())
def test_any_text_gives_an_object_or_a_parse_error(raw: str) -> None:
    try:
        reply = parse_reply(raw)
    except LLMResponseParseError as error:
        assert error.raw_response == raw
    else:
        json.dumps(reply.value)


@pytest.mark.skipif(
    not MALFORMED_JSON.exists(), reason="the public test data is not here; RAGQ_DATA_DIR names its folder"
)
def test_most_published_malformed_replies_are_read_as_their_authors_expect() -> None:
    cases = [json.loads(line) for line in MALFORMED_JSON.read_text(encoding="utf-8").splitlines()]
    expected_objects = [(case["input"], value) for case in cases if isinstance(value := expectation(case), dict)]

    right = sum(object_or_none(raw) == value for raw, value in expected_objects)

    # The others follow conventions of one library: filling in a schema's defaults, comments, MongoDB's constructors.
    assert (right >= 128, len(expected_objects)) == (True, 158)


def expectation(case: dict[str, Any]) -> object:
    """Some cases write the expected value as JSON text, some as the value itself."""
    try:
        return json.loads(case["expected"])
    except (TypeError, ValueError):
        return case["expected"]


def object_or_none(raw: str) -> dict[str, Any] | None:
    try:
        return parse_reply(raw).value
    except LLMResponseParseError:
        return None
