"""The tolerant corrections, one by one and together."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.replies.tolerant import (
    drop_trailing_commas,
    escape_control_characters,
    escape_inner_quotes,
    insert_missing_commas,
    join_string_fragments,
    straighten_smart_quotes,
    tolerant_fixups,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
almost_json = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "“",
            "’",
            "\\",
            "\n",
            "\t",
            " ",
            "\u200b",
            "\x00",
            "a",
            "1",
            "true",
            '"k":',
            '"s"',
        ]
    ),
    max_size=24,
).map("".join)


@pytest.mark.parametrize(
    ("fixup", "broken", "corrected"),
    [
        (straighten_smart_quotes, "{“a”: „it’s‟}", '{"a": "it\'s"}'),
        (insert_missing_commas, '{"a": 1\n"b": 2}', '{"a": 1,\n"b": 2}'),
        (insert_missing_commas, '{"a": "x" \n  "b": "y"}', '{"a": "x", \n  "b": "y"}'),
        (
            insert_missing_commas,
            '{"a": {"c": 1}\n"b": [2]\n"d": null\n"e": 0}',
            '{"a": {"c": 1},\n"b": [2],\n"d": null,\n"e": 0}',
        ),
        (insert_missing_commas, '{"a": 1,\n"b": 2}', '{"a": 1,\n"b": 2}'),
        (insert_missing_commas, '["a"\n"b"]', '["a"\n"b"]'),
        (escape_inner_quotes, '{"a": "he said "hi" to me"}', r'{"a": "he said \"hi\" to me"}'),
        (escape_inner_quotes, '{"a": "ends in "hi""}', r'{"a": "ends in \"hi\""}'),
        (escape_inner_quotes, r'{"a": "he said \"hi\" to me"}', r'{"a": "he said \"hi\" to me"}'),
        (escape_inner_quotes, '{"a": "x" "b": "y"}', '{"a": "x" "b": "y"}'),
        (escape_control_characters, '{"a":\t"x\ty\nz\r"}', '{"a":\t"x\\ty\\nz\\r"}'),
        (escape_control_characters, '{"a": "x\x00y\x1f"}', r'{"a": "x\u0000y\u001f"}'),
        (join_string_fragments, '{"a": "x", "y", "z", "b": 1}', r'{"a": "x\ny\nz", "b": 1}'),
        (join_string_fragments, '{"a": ["x", "y"], "b": "z"}', '{"a": ["x", "y"], "b": "z"}'),
        (drop_trailing_commas, '{"a": [1, 2, ], }', '{"a": [1, 2]}'),
        (drop_trailing_commas, '{"a": [1,,]}', '{"a": [1]}'),
        (drop_trailing_commas, '{"a": "x,}"}', '{"a": "x,}"}'),
    ],
)
def test_each_fixup_corrects_one_thing(fixup: Callable[[str], str], broken: str, corrected: str) -> None:
    assert fixup(broken) == corrected


@given(json_values, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_json_is_unchanged(value: object, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert tolerant_fixups(text) == text


@given(st.one_of(st.text(), almost_json, json_values.map(lambda value: json.dumps(value, indent=1)[:-2])))
def test_correcting_twice_changes_no_more_than_once(text: str) -> None:
    once = tolerant_fixups(text)

    assert tolerant_fixups(once) == once
