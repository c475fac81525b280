"""Replies in Python's spelling."""

import pytest

from stages.replies.tolerant import python_literal_object


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'x', 'b': None}", {"a": "x", "b": None}),
        ("{'a': true, 'b': false, 'c': null}", {"a": True, "b": False, "c": None}),
        ("""{'a': "true, he's null"}""", {"a": "true, he's null"}),
        (r"{'a': 'it\'s', 'b': 'x\/y', 'c': '\d'}", {"a": "it's", "b": "x/y", "c": r"\d"}),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("{1: 'a'}", {"1": "a"}),
    ],
)
def test_literals_become_json_values(text: str, value: object) -> None:
    assert python_literal_object(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "['a']",
        "{'a'}",
        "{'a': {1, 2}}",
        "{'a': b'x'}",
        "{'a': 1e999}",
        "{'a': print()}",
        "{'a': ",
        "{" * 500,
        "\x00",
        r"{'a': '\xZ'}",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert python_literal_object(text) is None
