"""All repair steps together: the result of each, and the error that is raised."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LLMResponseParseError
from stages.replies import ParsedReply, RepairStep, parse_reply

MALFORMED_JSON = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "malformed_json" / "cases.jsonl"

json_objects = st.dictionaries(
    st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=3), max_size=5
)


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


@given(json_objects)
def test_a_clean_object_needs_no_repair_step(value: dict[str, Any]) -> None:
    assert parse_reply(json.dumps(value, ensure_ascii=False)) == ParsedReply(value, ())


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
