"""Replies that are JSON, and replies that are nearly JSON."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

import json_repair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LLMResponseParseError
from stages.replies import parsing
from tests.data import public_data


def test_a_fence_and_white_space_may_surround_the_object() -> None:
    replies = [
        '{"decision": "accept"}',
        ' \n{"decision": "accept"}\n',
        '```json\n{"decision": "accept"}\n```',
        '```{"decision": "accept"}```',
        '```json\n```\n```json\n{"decision": "accept"}\n```',
        '```\n```json\n{"decision": "accept"}\n```\n```',
    ]
    assert [parsing.parse_strict(raw) for raw in replies] == [{"decision": "accept"}] * len(replies)


#: Of no use to either parser, with what is wrong.
NO_OBJECTS = [
    ("", "Expecting value at line 1, column 1"),
    ("I cannot help with that.", "Expecting value at line 1, column 1"),
    ('["accept"]', "expected a JSON object, found array"),
    ("null", "expected a JSON object, found null"),
    ("[" * 100_000, "the JSON is nested too deeply"),
]


@pytest.mark.parametrize(
    ("parse", "raw", "parse_error"),
    [
        *((parse, raw, error) for parse in (parsing.parse_strict, parsing.parse_reply) for raw, error in NO_OBJECTS),
        (parsing.parse_reply, "```json\n[1, 2,\n```", "Expecting value at line 1, column 7"),
        (parsing.parse_strict, 'Sure: ```json\n{"decision": "accept"}\n```', "Expecting value at line 1, column 1"),
        (
            parsing.parse_strict,
            "{'private': 1}",
            "Expecting property name enclosed in double quotes at line 1, column 2",
        ),
        (parsing.parse_strict, '{"decision": "accept"} and more', "Extra data at line 1, column 24"),
        (parsing.parse_strict, '"accept"', "expected a JSON object, found string"),
        (parsing.parse_strict, "1", "expected a JSON object, found number"),
        (parsing.parse_strict, "true", "expected a JSON object, found boolean"),
        (parsing.parse_strict, '{"score": NaN}', "NaN is not JSON"),
        (parsing.parse_strict, '{"decision": "reject", "decision": "accept"}', "a name occurs twice in one object"),
    ],
)
def test_the_first_error_is_shown_without_the_reply(parse: Callable[[str], object], raw: str, parse_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse(raw)

    assert (caught.value.raw_response, caught.value.parse_error) == (raw, parse_error)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "private" not in f"{caught.value} {caught.value!r}"


def test_tags_and_fences_are_removed() -> None:
    unwrapped = {
        "  {}\n": "{}",
        "Let me think.\n<answer>{}</answer>\nDone.": "{}",
        "It goes in <answer></answer> tags. <answer>{}</answer>": "{}",
        "<answer>{}": "<answer>{}",
        "```json\n{}\n```": "{}",
        "```JSON {} ```": "{}",
        "First ```json\n{}\n``` then ```[]```": "{}",
        "```\n```json\n{}\n```\n```": "{}",
        "``` ```\nHere {it} is: ```json\n{}\n```": "{}",
        "```json\nHere it is: {}\n```": "Here it is: {}",
        "```json\n{}": "{}",
        "{}\n```": "{}",
        "": "",
    }
    assert {reply: parsing.unwrap(reply) for reply in unwrapped} == unwrapped


def test_the_repair_steps_that_were_needed_are_reported() -> None:
    repairs: dict[str, tuple[parsing.RepairStep, ...]] = {
        '{"a": ["x"]}': (),
        'Thinking.\n<answer>```json\n{"a": ["x"]}\n```</answer>': (),
        "{“a”: [“x”,]}": (parsing.RepairStep.FIXUPS,),
        "{'a': ['x']}": (parsing.RepairStep.PYTHON_LITERAL,),
        "{‘a’: ['x']}": (parsing.RepairStep.FIXUPS, parsing.RepairStep.PYTHON_LITERAL),
        'Here you are: {"a": ["x"]}': (parsing.RepairStep.JSON_REPAIR,),
        '{a: ["x"': (parsing.RepairStep.JSON_REPAIR,),
        '{"a\u200b": ["x"]}': (parsing.RepairStep.FIXUPS,),
        r'{"a\u2060": ["x"]}': (parsing.RepairStep.FIXUPS,),
        '\ufeff{"\u200da": ["x"]}': (parsing.RepairStep.FIXUPS,),
        '``\u200b`json\n{"a": ["x"]}\n```': (parsing.RepairStep.FIXUPS,),
        "{'\u200ca': ['x']}": (parsing.RepairStep.FIXUPS, parsing.RepairStep.PYTHON_LITERAL),
        r"{'a\u200b': ['x']}": (parsing.RepairStep.PYTHON_LITERAL,),
        '{a\u200b: ["x"': (parsing.RepairStep.FIXUPS, parsing.RepairStep.JSON_REPAIR),
    }
    assert {raw: parsing.parse_reply(raw) for raw in repairs} == {
        raw: parsing.ParsedReply({"a": ["x"]}, needed) for raw, needed in repairs.items()
    }


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
        parsing.parse_reply(raw)


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


def repaired_here(command: Sequence[str], *, input: str, **_: object) -> subprocess.CompletedProcess[str]:
    """What the library prints, without a process for each reply."""
    input.encode()
    try:
        return subprocess.CompletedProcess(command, 0, json.dumps(json_repair.loads(input, skip_json_loads=True)))
    except (ValueError, TypeError, RecursionError):
        raise subprocess.SubprocessError from None


@given(st.text())
def test_any_text_gives_an_object_or_a_parse_error(raw: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", repaired_here)
        try:
            reply = parsing.parse_reply(raw)
        except LLMResponseParseError as error:
            assert error.raw_response == raw
        else:
            json.dumps(reply.value)


def test_most_published_malformed_replies_are_read_as_their_authors_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", repaired_here)
    lines = (public_data("malformed_json") / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
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
        return parsing.parse_reply(raw).value
    except LLMResponseParseError:
        return None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
almost_json = st.lists(
    st.sampled_from([*'{}[],:"“’\\\n\t \u200b\x00a1', "true", '"k":', '"s"']),
    max_size=24,
).map("".join)


@pytest.mark.parametrize(
    ("fixup", "broken", "corrected"),
    [
        (parsing.straighten_smart_quotes, "{“a”: „it’s‟}", '{"a": "it\'s"}'),
        (parsing.insert_missing_commas, '{"a": 1\n"b": 2}', '{"a": 1,\n"b": 2}'),
        (parsing.insert_missing_commas, '{"a": "x" \n  "b": "y"}', '{"a": "x", \n  "b": "y"}'),
        (
            parsing.insert_missing_commas,
            '{"a": {"c": 1}\n"b": [2]\n"d": null\n"e": 0}',
            '{"a": {"c": 1},\n"b": [2],\n"d": null,\n"e": 0}',
        ),
        (parsing.insert_missing_commas, '{"a": 1,\n"b": 2}', '{"a": 1,\n"b": 2}'),
        (parsing.insert_missing_commas, '["a"\n"b"]', '["a"\n"b"]'),
        (parsing.escape_inner_quotes, '{"a": "he said "hi" to me"}', r'{"a": "he said \"hi\" to me"}'),
        (parsing.escape_inner_quotes, '{"a": "ends in "hi""}', r'{"a": "ends in \"hi\""}'),
        (parsing.escape_inner_quotes, r'{"a": "he said \"hi\" to me"}', r'{"a": "he said \"hi\" to me"}'),
        (parsing.escape_inner_quotes, '{"a": "x" "b": "y"}', '{"a": "x" "b": "y"}'),
        (parsing.escape_control_characters, '{"a":\t"x\ty\nz\r"}', '{"a":\t"x\\ty\\nz\\r"}'),
        (parsing.escape_control_characters, '{"a": "x\x00y\x1f"}', r'{"a": "x\u0000y\u001f"}'),
        (parsing.join_string_fragments, '{"a": "x", "y", "z", "b": 1}', r'{"a": "x\ny\nz", "b": 1}'),
        (parsing.join_string_fragments, '{"a": ["x", "y"], "b": "z"}', '{"a": ["x", "y"], "b": "z"}'),
        (parsing.drop_trailing_commas, '{"a": [1, 2, ], }', '{"a": [1, 2]}'),
        (parsing.drop_trailing_commas, '{"a": [1,,]}', '{"a": [1]}'),
        (parsing.drop_trailing_commas, '{"a": "x,}"}', '{"a": "x,}"}'),
    ],
)
def test_each_fixup_corrects_one_thing(fixup: Callable[[str], str], broken: str, corrected: str) -> None:
    assert fixup(broken) == corrected


@given(json_values, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_json_is_unchanged(value: object, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert parsing.tolerant_fixups(text) == text


@given(st.one_of(st.text(), almost_json, json_values.map(lambda value: json.dumps(value, indent=1)[:-2])))
def test_correcting_twice_changes_no_more_than_once(text: str) -> None:
    once = parsing.tolerant_fixups(text)

    assert parsing.tolerant_fixups(once) == once


def test_literals_become_json_values_and_anything_else_is_none() -> None:
    values = {
        "{'a': 'x', 'b': None}": {"a": "x", "b": None},
        "{'a': true, 'b': false, 'c': null}": {"a": True, "b": False, "c": None},
        """{'a': "true, he's null"}""": {"a": "true, he's null"},
        r"{'a': 'it\'s', 'b': 'x\/y', 'c': '\d'}": {"a": "it's", "b": "x/y", "c": r"\d"},
        "{'a': (1, 2)}": {"a": [1, 2]},
        "{1: 'a'}": {"1": "a"},
        **dict.fromkeys(("", "['a']", "{'a'}", "{'a': {1, 2}}", "{'a': b'x'}", "{'a': 1e999}")),
        **dict.fromkeys(("{'a': print()}", "{'a': ", "{" * 500, "\x00", r"{'a': '\xZ'}")),
    }
    assert {text: parsing.python_literal_object(text) for text in values} == values
